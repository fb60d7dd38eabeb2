import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";

/** Valid secrets for tests. */
export const secretA = `whsec_${Buffer.alloc(32, 0xa1).toString("base64")}`;
export const secretB = `whsec_${Buffer.alloc(32, 0xb2).toString("base64")}`;
export const secretX = `whsec_${Buffer.alloc(32, 0xee).toString("base64")}`;

export type SignedDelivery = {
  readonly id: string;
  readonly timestampSeconds: number;
  readonly body: Buffer;
  readonly headers: {
    readonly "webhook-id": string;
    readonly "webhook-timestamp": string;
    readonly "webhook-signature": string;
  };
};

export type SignedDeliveryOptions = {
  readonly body: string | Buffer;
  readonly timestampSeconds: number;
  /** Default: `msg_` and a counter. */
  readonly id?: string;
  readonly secret?: string;
};

let deliveries = 0;

/** A delivery as the service sends it. Strings are signed by `standardwebhooks`, bytes by `signBytes`. */
export function signDelivery({
  body,
  timestampSeconds,
  id,
  secret = secretA,
}: SignedDeliveryOptions): SignedDelivery {
  deliveries += 1;
  const webhookId = id ?? `msg_${deliveries}`;
  const signature =
    typeof body === "string"
      ? new Webhook(secret).sign(webhookId, new Date(timestampSeconds * 1000), body)
      : signBytes(secret, `${webhookId}.${timestampSeconds}.`, body);
  return {
    id: webhookId,
    timestampSeconds,
    body: Buffer.from(body as string),
    headers: {
      "webhook-id": webhookId,
      "webhook-timestamp": String(timestampSeconds),
      "webhook-signature": signature,
    },
  };
}

/** `v1,` and the base64 HMAC-SHA256 of any prefix and bytes, for malformed deliveries. */
export function signBytes(secret: string, prefix: string, body: Uint8Array): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  return `v1,${createHmac("sha256", key).update(prefix).update(body).digest("base64")}`;
}
