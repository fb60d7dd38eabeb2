import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";

/**
 * How deliveries are signed. `standard-webhooks` is the service's own scheme; `github` exists so that
 * receivers of that family can be compared by the same attacks, and has neither a timestamp nor a
 * signed id, so the checks about those do not apply to it.
 */
export type SchemeName = "standard-webhooks" | "github";

export type HeaderLine = readonly [name: string, value: string];

export type SignedContent = {
  readonly id: string;
  /** The header's text; what is signed when it is not a plain number. */
  readonly timestamp: string;
  readonly body: Buffer;
};

export type Delivery = SignedContent & {
  readonly event: string;
  readonly signature: string;
};

export type Scheme = {
  readonly name: SchemeName;
  readonly headerNames: { readonly id: string; readonly timestamp?: string; readonly signature: string };
  /** The key inside a secret's text, for signing and for making sure that it never shows up. */
  readonly keyOf: (secret: string) => Buffer;
  readonly sign: (content: SignedContent, secret: string) => string;
  readonly signWithKey: (content: SignedContent, key: Buffer) => string;
  readonly headers: (delivery: Delivery) => readonly HeaderLine[];
};

export const schemeNames = ["standard-webhooks", "github"] as const;

export function schemeByName(name: SchemeName): Scheme {
  return name === "github" ? github : standardWebhooks;
}

const standardWebhooks: Scheme = {
  name: "standard-webhooks",
  headerNames: { id: "webhook-id", timestamp: "webhook-timestamp", signature: "webhook-signature" },
  keyOf: (secret) => Buffer.from(secret.replace(/^whsec_/, ""), "base64"),
  sign: signStandard,
  signWithKey: (content, key) => `v1,${hmac(key, signedBytes(content)).toString("base64")}`,
  headers: ({ id, timestamp, signature }) => [
    ["webhook-id", id],
    ["webhook-timestamp", timestamp],
    ["webhook-signature", signature],
  ],
};

const github: Scheme = {
  name: "github",
  headerNames: { id: "x-github-delivery", signature: "x-hub-signature-256" },
  keyOf: (secret) => Buffer.from(secret, "utf8"),
  sign: (content, secret) => github.signWithKey(content, github.keyOf(secret)),
  signWithKey: ({ body }, key) => `sha256=${hmac(key, body).toString("hex")}`,
  headers: ({ id, event, signature }) => [
    ["x-github-delivery", id],
    ["x-github-event", event],
    ["x-hub-signature-256", signature],
  ],
};

/**
 * The public library signs whatever it can express: text bodies and whole, positive seconds. Raw bytes that
 * are not UTF-8 and malformed timestamps are signed by hand, as a sender of such a thing would.
 */
function signStandard(content: SignedContent, secret: string): string {
  const text = content.body.toString("utf8");
  const isText = Buffer.from(text, "utf8").equals(content.body);
  if (!isText || !/^[1-9][0-9]{0,11}$/.test(content.timestamp)) {
    return standardWebhooks.signWithKey(content, standardWebhooks.keyOf(secret));
  }
  return new Webhook(secret).sign(content.id, new Date(Number(content.timestamp) * 1000), text);
}

function signedBytes({ id, timestamp, body }: SignedContent): Buffer {
  return Buffer.concat([Buffer.from(`${id}.${timestamp}.`, "utf8"), body]);
}

function hmac(key: Buffer, content: Buffer): Buffer {
  return createHmac("sha256", key).update(content).digest();
}
