import { type HeaderLine, type RawRequest, requestBytes } from "./raw-http.ts";
import { sampleEvent } from "./sample-event.ts";
import { secretA, signBytes } from "./signed-delivery.ts";

/** The time of the receivers that these deliveries are sent to. */
export const nowSeconds = 1_772_357_400;

export interface RawDelivery extends Omit<RawRequest, "headers" | "body"> {
  readonly body?: string | Buffer;
  readonly id?: string;
  readonly timestamp?: string;
  readonly secret?: string;
  readonly signature?: string;
  /** Replaces the three signed headers. */
  readonly headers?: (signed: readonly HeaderLine[]) => readonly HeaderLine[];
  readonly extraHeaders?: readonly HeaderLine[];
  /** Sent instead of the signed body. */
  readonly wireBody?: string | Buffer;
}

let lastId = 0;
export const nextId = () => `msg_${++lastId}`;

/** The bytes of a delivery that is valid except for what the options change. */
export function deliveryBytes(options: RawDelivery = {}): Buffer {
  const {
    id = nextId(),
    timestamp = String(nowSeconds),
    secret = secretA,
    headers = (signed) => signed,
    extraHeaders = [],
    ...request
  } = options;
  const body = Buffer.from((options.body ?? JSON.stringify(sampleEvent())) as string);
  const signature = options.signature ?? signBytes(secret, `${id}.${timestamp}.`, body);
  const signed: readonly HeaderLine[] = [
    ["webhook-id", id],
    ["webhook-timestamp", timestamp],
    ["webhook-signature", signature],
  ];
  return requestBytes({
    ...request,
    headers: [["Content-Type", "application/json"], ...headers(signed), ...extraHeaders],
    body: options.wireBody ?? body,
  });
}

/** A delivery in chunks of seven bytes. */
export function chunkedBytes(body: string, extension = ""): Buffer {
  const chunks =
    Buffer.from(body)
      .toString("latin1")
      .match(/[\s\S]{1,7}/g) ?? [];
  const framed = chunks.map((chunk) => `${chunk.length.toString(16)}${extension}\r\n${chunk}\r\n`).join("");
  return deliveryBytes({
    body,
    extraHeaders: [["Transfer-Encoding", "chunked"]],
    wireBody: Buffer.from(`${framed}0\r\n\r\n`, "latin1"),
    contentLength: null,
  });
}
