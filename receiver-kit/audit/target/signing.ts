import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";

export type HeaderLine = readonly [name: string, value: string];

export interface SignedContent {
  readonly id: string;
  /** The header's text; signed as it is, even when it is not a number. */
  readonly timestamp: string;
  readonly body: Buffer;
}

export interface Delivery extends SignedContent {
  readonly event: string;
  readonly signature: string;
}

/** How deliveries are signed: for the service by `standardWebhooks`. */
export interface Signing {
  readonly headerNames: { readonly id: string; readonly timestamp?: string; readonly signature: string };
  /** What precedes the encoded bytes of a signature. */
  readonly prefix: string;
  readonly encoding: "base64" | "hex";
  keyOf(secret: string): Buffer;
  sign(content: SignedContent, secret: string): string;
  signWithKey(content: SignedContent, key: Buffer): string;
  headers(delivery: Delivery): readonly HeaderLine[];
}

export const standardWebhooks: Signing = {
  headerNames: { id: "webhook-id", timestamp: "webhook-timestamp", signature: "webhook-signature" },
  prefix: "v1,",
  encoding: "base64",
  keyOf: (secret) => Buffer.from(secret.replace(/^whsec_/, ""), "base64"),
  sign: signByLibrary,
  signWithKey({ id, timestamp, body }, key) {
    const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
    return `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
  },
  headers: ({ id, timestamp, signature }) => [
    ["webhook-id", id],
    ["webhook-timestamp", timestamp],
    ["webhook-signature", signature],
  ],
};

// The public library can sign only UTF-8 bodies and whole, positive seconds.
function signByLibrary(content: SignedContent, secret: string): string {
  const text = content.body.toString("utf8");
  const isUtf8 = Buffer.from(text, "utf8").equals(content.body);
  if (!isUtf8 || !/^[1-9][0-9]{0,11}$/.test(content.timestamp)) {
    return standardWebhooks.signWithKey(content, standardWebhooks.keyOf(secret));
  }
  return new Webhook(secret).sign(content.id, new Date(Number(content.timestamp) * 1000), text);
}
