import { createHmac, type KeyObject } from "node:crypto";

/** The signature of a body without its `v1,`. `signedPrefix`: id and timestamp, each with a dot behind it. */
export function signatureOf(
  key: KeyObject | Uint8Array,
  signedPrefix: string | Uint8Array,
  body: string | Uint8Array,
): string {
  return createHmac("sha256", key).update(signedPrefix).update(body).digest("base64");
}
