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
