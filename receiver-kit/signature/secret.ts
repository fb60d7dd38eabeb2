// With a wrong secret every signature fails, and nothing says why until the first delivery. So a secret is checked when
// the receiver is created, as strictly as the scheme allows, and each reported mistake has its own message. No message
// contains a part of the secret.

import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
import { ReceiverError } from "../errors.ts";

const keyBytesMin = 24;
const keyBytesMax = 64;

/** The first that a secret has counts. */
const mistakes: readonly (readonly [pattern: RegExp, message: string])[] = [
  [/^$/, "expected text that starts with whsec_, got an empty string: is the environment variable set?"],
  [/^\s+$/, "expected text that starts with whsec_, got only whitespace"],
  [/[\r\n]$/, "ends with a newline, as a file or a command's output does; trim it"],
  [/^\s|\s$/, "has whitespace around it; trim it"],
  [/\s/, "has whitespace inside; was it wrapped over two lines?"],
  [/^(["']).*\1$/, "is in quotes, which docker --env-file keeps; remove them"],
  [/^v\d+a?,/, "starts with a signature version; remove it: whsec_ comes first"],
  [
    /^wh[ps]k_/,
    "is an asymmetric key (whpk_ or whsk_); expected the endpoint's symmetric signing secret, whsec_…",
  ],
  [/^(?!whsec_)/, "expected text that starts with whsec_, as the service returned it"],
  [/^whsec_$/, "nothing follows whsec_"],
  // 32 random base64 characters are all hexadecimal digits once in 10^19.
  [
    /^whsec_(?:[0-9a-f]{32,}|[0-9A-F]{32,})$/,
    "is hexadecimal after whsec_; expected base64, as the service returned it",
  ],
  [
    /^whsec_(?=[^_-]*[_-])[A-Za-z0-9_-]+=*$/,
    "is base64url (has - or _) after whsec_; expected standard base64 (+ and /)",
  ],
  [/whsec_(?![A-Za-z0-9+/]+={0,2}$)/, "has characters after whsec_ that base64 does not use"],
];

/**
 * Reads a signing secret, `whsec_` and the base64 text of 24 to 64 bytes, as a key.
 *
 * `label` names the secret in the error, such as `secrets[1]`.
 *
 * @throws {ReceiverError} `SECRET_INVALID`
 */
export function parseSecret(secret: unknown, label = "secret"): KeyObject {
  const wrong = (message: string) => new ReceiverError("SECRET_INVALID", `${label}: ${message}`);
  if (typeof secret !== "string") {
    const hint = secret === undefined ? "; is the environment variable set?" : "";
    const found = secret === null ? "null" : typeof secret;
    throw wrong(`expected text that starts with whsec_, got ${found}${hint}`);
  }
  const mistake = mistakes.find(([pattern]) => pattern.test(secret));
  if (mistake) throw wrong(mistake[1]);
  const encoded = secret.slice("whsec_".length);
  const bytes = Buffer.from(encoded, "base64");
  if (bytes.toString("base64") !== encoded)
    throw wrong("is not complete base64 after whsec_; were characters or the = padding lost in copying?");
  if (bytes.length >= keyBytesMin && bytes.length <= keyBytesMax) return createSecretKey(bytes);
  throw wrong(
    `expected a key of ${keyBytesMin} to ${keyBytesMax} bytes, got ${bytes.length}; was it truncated or pasted twice?`,
  );
}

/** The signature of a body without its `v1,`. `signedPrefix`: id and timestamp, each with a dot behind it. */
export function signatureOf(
  key: KeyObject | Uint8Array,
  signedPrefix: string | Uint8Array,
  body: string | Uint8Array,
): string {
  return createHmac("sha256", key).update(signedPrefix).update(body).digest("base64");
}
