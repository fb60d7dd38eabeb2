// With a wrong secret every signature fails, and nothing says why until the first delivery. So a secret is checked when
// the receiver is created, as strictly as the scheme allows, and each reported mistake has its own message. No message
// contains a part of the secret.

import { createSecretKey, type KeyObject } from "node:crypto";
import { ReceiverError, type ReceiverErrorCode } from "../errors.ts";

const prefix = "whsec_";
const keyBytesMin = 24;
const keyBytesMax = 64;

/**
 * Reads a signing secret, `whsec_` and the base64 text of 24 to 64 bytes, as a key.
 *
 * `label` names the secret in the error, such as `secrets[1]`.
 *
 * @throws {ReceiverError} `SECRET_…`
 */
export function parseSecret(secret: unknown, label = "secret"): KeyObject {
  const mistake = findMistake(secret);
  if (mistake) throw new ReceiverError(mistake[0], `${label}: ${mistake[1]}`);
  return createSecretKey(keyBytesOf(secret as string));
}

const keyBytesOf = (secret: string) => Buffer.from(secret.slice(prefix.length), "base64");

function findMistake(secret: unknown): readonly [code: ReceiverErrorCode, message: string] | undefined {
  if (typeof secret !== "string") return ["SECRET_MISSING", describeMissing(secret)];
  if (secret === "") {
    const message =
      "expected text that starts with whsec_, got an empty string: is the environment variable set?";
    return ["SECRET_EMPTY", message];
  }
  if (/\s/.test(secret)) return ["SECRET_WHITESPACE", describeWhitespace(secret)];
  if (/^v\d+a?,/.test(secret)) {
    return ["SECRET_VERSION_PREFIX", "starts with a signature version; remove it: whsec_ comes first"];
  }
  if (/^wh[ps]k_/.test(secret)) {
    return [
      "SECRET_ASYMMETRIC_KEY",
      "is an asymmetric key (whpk_ or whsk_); expected the endpoint's symmetric signing secret, whsec_…",
    ];
  }
  if (!secret.startsWith(prefix)) {
    return ["SECRET_PREFIX_MISSING", "expected text that starts with whsec_, as the service returned it"];
  }
  const encodingMistake = findEncodingMistake(secret.slice(prefix.length));
  if (encodingMistake) return encodingMistake;
  const { length } = keyBytesOf(secret);
  if (length >= keyBytesMin && length <= keyBytesMax) return undefined;
  return [
    "SECRET_LENGTH",
    `expected a key of ${keyBytesMin} to ${keyBytesMax} bytes, got ${length}; was it truncated or pasted twice?`,
  ];
}

function findEncodingMistake(encoded: string): [ReceiverErrorCode, string] | undefined {
  if (encoded === "") return ["SECRET_EMPTY", "nothing follows whsec_"];
  // 32 random base64 characters are all hexadecimal digits once in 10^19.
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
      "is not complete base64 after whsec_; were characters or the = padding lost in copying?",
    ];
  }
  return undefined;
}

function describeMissing(secret: unknown): string {
  const hint = secret === undefined ? "; is the environment variable set?" : "";
  return `expected text that starts with whsec_, got ${secret === null ? "null" : typeof secret}${hint}`;
}

function describeWhitespace(secret: string): string {
  if (secret.trim() === "") return "expected text that starts with whsec_, got only whitespace";
  if (/[\r\n]$/.test(secret)) return "ends with a newline, as a file or a command's output does; trim it";
  if (secret !== secret.trim()) return "has whitespace around it; trim it";
  return "has whitespace inside; was it wrapped over two lines?";
}
