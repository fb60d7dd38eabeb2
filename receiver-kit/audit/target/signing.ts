import { Webhook } from "standardwebhooks";
import { signatureOf } from "../../signature/signature-of.ts";

export type HeaderLine = readonly [name: string, value: string];

export interface SignedContent {
  readonly id: string;
  /** The header's text; signed as it is, even when it is not a number. */
  readonly timestamp: string;
  readonly body: Buffer;
}

/** A signed delivery, and how it is put on the wire where that differs from an ordinary POST. */
export interface Delivery extends SignedContent {
  readonly event: string;
  readonly signature: string;
  readonly method?: string;
  /** The signed headers that are left out. */
  readonly without?: readonly SignedHeader[];
  /** Writes the names of the signed headers in another way. */
  readonly rename?: (name: string) => string;
  readonly extraHeaders?: readonly HeaderLine[];
  readonly contentType?: string | undefined;
  /** Bytes on the wire instead of the body. */
  readonly wireBody?: Buffer;
  readonly contentLength?: number;
  readonly chunked?: boolean;
  readonly keepAlive?: boolean;
}

export type SignedHeader = "id" | "timestamp" | "signature" | "event";

/** How deliveries are signed: for the service by `standardWebhooks`. */
export interface Signing {
  readonly headerNames: Readonly<Partial<Record<SignedHeader, string>>>;
  /** What precedes the encoded bytes of a signature. */
  readonly prefix: string;
  readonly encoding: "base64" | "hex";
  keyOf(secret: string): Buffer;
  sign(content: SignedContent, secret: string): string;
  signWithKey(content: SignedContent, key: Buffer): string;
}

export const standardWebhooks: Signing = {
  headerNames: { id: "webhook-id", timestamp: "webhook-timestamp", signature: "webhook-signature" },
  prefix: "v1,",
  encoding: "base64",
  keyOf: (secret) => Buffer.from(secret.replace(/^whsec_/, ""), "base64"),
  sign: signByLibrary,
  signWithKey({ id, timestamp, body }, key) {
    return `v1,${signatureOf(key, `${id}.${timestamp}.`, body)}`;
  },
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
