import { signatureOf } from "@workspace-tasks/receiver-kit/parts";
import { Webhook } from "standardwebhooks";

export type HeaderLine = readonly [name: string, value: string];

export interface SignedContent {
  readonly id: string;
  /** The header's text; signed as it is, even when it is not a number. */
  readonly timestamp: string;
  readonly body: Buffer;
}

/** The headers of a delivery, each after `webhook-`. */
export const signedHeaders = ["id", "timestamp", "signature"] as const;
export type SignedHeader = (typeof signedHeaders)[number];

/** A signed delivery, and how it is put on the wire where that differs from an ordinary POST. */
export interface Delivery extends SignedContent {
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

/** What precedes the encoded bytes of a signature. */
export const signaturePrefix = "v1,";

export const keyOf = (secret: string): Buffer => Buffer.from(secret.replace(/^whsec_/, ""), "base64");

export const signWithKey = ({ id, timestamp, body }: SignedContent, key: Buffer): string =>
  signaturePrefix + signatureOf(key, `${id}.${timestamp}.`, body);

/** Signs with the public library where it can: UTF-8 bodies and whole, positive seconds. */
export function sign(content: SignedContent, secret: string): string {
  const text = content.body.toString("utf8");
  const isUtf8 = Buffer.from(text, "utf8").equals(content.body);
  if (!isUtf8 || !/^[1-9][0-9]{0,11}$/.test(content.timestamp)) return signWithKey(content, keyOf(secret));
  return new Webhook(secret).sign(content.id, new Date(Number(content.timestamp) * 1000), text);
}
