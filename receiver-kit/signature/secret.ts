// A wrong secret shows itself only as "every signature is wrong", days later and at night. So a secret is
// parsed when the receiver is built, as strictly as the scheme allows, and each way of getting it wrong that
// people have reported has its own message. No message ever contains a part of the secret.

import { createSecretKey, type KeyObject } from "node:crypto";
import { type SecretErrorCode, WebhookSecretError } from "../errors.ts";

const prefix = "whsec_";
const keyBytesMin = 24;
const keyBytesMax = 64;

/**
 * Reads a signing secret, `whsec_` and the base64 text of 24 to 64 bytes, as a key.
 *
 * `label` says in the error which secret is meant, such as `secrets[1]`.
 *
 * @throws {WebhookSecretError} with the exact mistake as its code
 */
export function parseSecret(secret: unknown, label = "secret"): KeyObject {
  const refuse = (code: SecretErrorCode, mistake: string) =>
    new WebhookSecretError(code, `${label}: ${mistake}`);
  if (typeof secret !== "string") throw refuse("SECRET_MISSING", describeMissing(secret));
  if (secret === "") {
    throw refuse("SECRET_EMPTY", "expected text that starts with whsec_, got an empty string");
  }
  if (/\s/.test(secret)) throw refuse("SECRET_WHITESPACE", describeWhitespace(secret));
  if (/^v\d+a?,/.test(secret)) {
    throw refuse("SECRET_VERSION_PREFIX", "starts with a signature version; remove it: whsec_ comes first");
  }
  if (/^wh[ps]k_/.test(secret)) {
    throw refuse(
      "SECRET_ASYMMETRIC_KEY",
      "is an asymmetric key (whpk_ or whsk_); expected the endpoint's symmetric signing secret, whsec_…",
    );
  }
  if (!secret.startsWith(prefix)) {
    throw refuse(
      "SECRET_PREFIX_MISSING",
      "expected text that starts with whsec_, as the service returned it",
    );
  }
  const encoded = secret.slice(prefix.length);
  const mistake = findEncodingMistake(encoded);
  if (mistake) throw refuse(...mistake);
  const bytes = Buffer.from(encoded, "base64");
  if (bytes.length < keyBytesMin || bytes.length > keyBytesMax) {
    throw refuse(
      "SECRET_LENGTH",
      `expected a key of ${keyBytesMin} to ${keyBytesMax} bytes, got ${bytes.length}; was it cut or pasted twice?`,
    );
  }
  return createSecretKey(bytes);
}

function findEncodingMistake(encoded: string): [SecretErrorCode, string] | undefined {
  if (encoded === "") return ["SECRET_EMPTY", "nothing follows whsec_"];
  // Thirty-two random base64 characters are all hexadecimal digits once in 10^19.
  if (/^(?:[0-9a-f]{32,}|[0-9A-F]{32,})$/.test(encoded)) {
    return ["SECRET_HEX", "is hexadecimal after whsec_; expected base64, as the service returned it"];
  }
  if (/^[A-Za-z0-9_-]+=*$/.test(encoded) && /[_-]/.test(encoded)) {
    return ["SECRET_BASE64URL", "is base64url (has - or _) after whsec_; expected standard base64 (+ and /)"];
  }
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) {
    return ["SECRET_NOT_BASE64", "has characters after whsec_ that base64 does not use"];
  }
  if (Buffer.from(encoded, "base64").toString("base64") !== encoded) {
    return [
      "SECRET_CUT_SHORT",
      "is not whole base64 after whsec_; were characters or the = padding lost in copying?",
    ];
  }
  return undefined;
}

function describeMissing(secret: unknown): string {
  if (secret === undefined)
    return "expected text that starts with whsec_, got undefined; is the environment variable set?";
  return `expected text that starts with whsec_, got ${secret === null ? "null" : typeof secret}`;
}

function describeWhitespace(secret: string): string {
  if (secret.trim() === "") return "expected text that starts with whsec_, got only whitespace";
  if (/[\r\n]$/.test(secret)) return "ends with a newline, as a file or a command's output does; trim it";
  if (secret !== secret.trim()) return "has whitespace around it; trim it";
  return "has whitespace inside; was it wrapped over two lines?";
}
