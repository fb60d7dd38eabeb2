import { isLoopbackHost, normaliseHost, withoutBrackets } from "@workspace-tasks/kernel/host.ts";
import { tagOf } from "@workspace-tasks/kernel/realm.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { kindOf, parse, type Schema, ValidationError } from "@workspace-tasks/kernel/schema.ts";
import { version } from "@workspace-tasks/kernel/version.ts";
import { WorkspaceTasksError } from "./errors.ts";

/**
 * Returns the checked input of a method, or throws `ARGUMENT_INVALID`. Input is checked before anything is sent, so a wrong
 * type costs no request of the rate limit and the error names the field.
 */
export function checkInput<Value>(method: string, schema: Schema<Value>, input: unknown): Value {
  return parse(
    schema,
    input,
    ({ message }) => new WorkspaceTasksError("ARGUMENT_INVALID", `${method}: ${message}`),
  );
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
const headerValue = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

// What the client sets itself, and what belongs to the connection.
const reserved: Readonly<Record<string, string>> = {
  authorization: "the client sends its token",
  "content-type": "the client sends JSON",
  "content-length": "fetch sets it",
  "transfer-encoding": "fetch sets it",
  connection: "fetch sets it",
  host: "fetch sets it",
  "source-platform": "set sourcePlatform",
};

/** What requests are sent with; a `user-agent` that is given follows it. */
export const userAgent = `workspace-tasks/${version}`;

/** Headers of a request, by lower-case name. A message contains names and never a value. */
export const requestHeaders: s.Schema<Readonly<Record<string, string>>> = (value, path) => {
  return Object.fromEntries(
    // A Map or Headers would be an object without entries.
    Object.entries(s.plainObject(value, path)).map(([name, text]) => {
      const lowerCase = name.toLowerCase();
      if (!token.test(name)) {
        throw new s.ValidationError(path, "expected header names without spaces and separators, got others");
      }
      const reason = Object.hasOwn(reserved, lowerCase) ? reserved[lowerCase] : undefined;
      if (reason !== undefined)
        throw new s.ValidationError(`${path}.${name}`, `expected another header: ${reason}`);
      const value = visibleAscii(text, `${path}.${name}`);
      return [lowerCase, lowerCase === "user-agent" ? `${userAgent} ${value}` : value];
    }),
  );
};

export const visibleAscii = s.refineString(
  "visible ASCII characters, as in any HTTP header",
  (value) => headerValue.test(value),
  "others, or none",
);

/** What `docker --env-file` makes of a value in quotes. The service would call such a key invalid, and not say why. */
export const isQuoted = (text: string): boolean => /^(["']).*\1$/s.test(text);

export const quotesHint = "is in quotes, which docker --env-file keeps; remove them";

/** A base address of the service: HTTPS, or HTTP, with nothing after the path. */
export const serviceUrl: Schema<URL> = (value, path) => {
  if (typeof value !== "string" && tagOf(value) !== "URL") {
    throw new ValidationError(path, `expected a URL, got ${kindOf(value)}`);
  }
  // A variable of the environment that is not set is an empty text.
  if (value === "") throw new ValidationError(path, `${expected}, got an empty text`);
  if (typeof value === "string" && isQuoted(value)) throw new ValidationError(path, `the URL ${quotesHint}`);
  // Not caught from `new URL`: its error quotes the value, which may hold a password.
  if (typeof value === "string" && !URL.canParse(value)) throw new ValidationError(path, notAbsolute);
  const url = new URL(String(value));
  const problem = problemOf(url);
  if (problem) throw new ValidationError(path, problem);
  // Equal addresses share one rate limit, however they are written.
  url.pathname = url.pathname.replace(/\/+$/, "");
  return url;
};

const expected = "expected an absolute URL such as https://service.example";
const notAbsolute = `${expected}, got one without https://`;

/** The URL of a path, such as `/graphql`, below a base address. */
export function urlBelow(base: URL, path: string): URL {
  const url = new URL(base);
  url.pathname = base.pathname.replace(/\/$/, "") + path;
  return url;
}

/** A host name, as `normaliseHost` returns it. */
export const hostName: Schema<string> = (value, path) => {
  if (typeof value !== "string") throw new ValidationError(path, `expected a string, got ${kindOf(value)}`);
  const host = normaliseHost(value);
  if (host !== null) return host;
  throw new ValidationError(path, "expected a host name without a scheme and a port, got something else");
};

/** True for HTTPS, for HTTP to this machine, whose traffic others cannot read, and for HTTP to a host that is allowed. */
export function isSecure({ protocol, hostname }: URL, httpHostsAllowed: readonly string[]): boolean {
  if (protocol !== "http:") return protocol === "https:";
  return isLoopbackHost(hostname) || httpHostsAllowed.includes(withoutBrackets(hostname));
}

function problemOf(url: URL): string | undefined {
  // `localhost:4010` is parsed as a path of the scheme `localhost`.
  if (url.host === "") return notAbsolute;
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    return `expected https, got ${url.protocol.slice(0, -1)}`;
  }
  if (url.username !== "" || url.password !== "") return "expected a URL without user and password";
  if (url.search !== "" || url.hash !== "") return "expected a URL without query and fragment";
  if (/\/graphql\/*$/.test(url.pathname)) return "expected the base address, got one that ends with /graphql";
  return undefined;
}
