import * as s from "@workspace-tasks/kernel/schema.ts";
import { version } from "@workspace-tasks/kernel/version.ts";

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
  "user-agent": "set appInfo",
  "source-platform": "set sourcePlatform",
};

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
      return [lowerCase, visibleAscii(text, `${path}.${name}`)];
    }),
  );
};

export const visibleAscii = s.refineString(
  "visible ASCII characters, as in any HTTP header",
  (value) => headerValue.test(value),
  "others, or none",
);

/** A name or version in a `User-Agent`. */
export const productToken = s.refineString(
  "letters, digits and hyphens, as in a User-Agent",
  (value) => token.test(value),
  "others, or none",
);

interface Product {
  readonly name: string;
  readonly version?: string | undefined;
}

/** `workspace-tasks/1.2.3 application/4.5` */
export function userAgentOf(application: Product | undefined): string {
  const own = `workspace-tasks/${version}`;
  if (!application) return own;
  const { name } = application;
  return `${own} ${application.version === undefined ? name : `${name}/${application.version}`}`;
}
