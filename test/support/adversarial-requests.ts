// The requests that one glance decides: sent over a real socket to one receiver, each with the answer expected.
// Numbers are permanent: a request that is dropped leaves its number unused.

import { createHmac } from "node:crypto";
import { gzipSync } from "node:zlib";
import type { WebhookRejectionCode } from "workspace-tasks/receiver-kit";
import { type HeaderLine, requestBytes } from "./raw-http.ts";
import { completedEvent, sampleEvent } from "./sample-event.ts";
import { secretA, secretB, secretX, signBytes } from "./signed-delivery.ts";

/** What the receiver under attack was built with; the requests lean on it. */
export const target = {
  nowSeconds: 1_772_357_400,
  bodyBytesMax: 262_144,
  /** Both active, as during a rotation. */
  secrets: [secretA, secretB],
} as const;

const { nowSeconds } = target;

export type AdversarialRequest = {
  readonly number: string;
  readonly what: string;
  readonly bytes: Buffer;
  readonly status: number;
  /** Why it is refused, or what becomes of it. `http` when Node's own parser refuses it before the receiver. */
  readonly outcome: WebhookRejectionCode | "accepted" | "quarantined" | "http";
  readonly bodiless?: boolean;
};

export type DeliveryOptions = {
  readonly body?: string | Buffer;
  readonly id?: string;
  readonly timestamp?: string;
  readonly secret?: string;
  /** Replaces the signature header, given the right one. */
  readonly signature?: (right: string) => string;
  /** Replaces all three headers, given the right ones. */
  readonly headers?: (right: readonly HeaderLine[]) => readonly HeaderLine[];
  readonly extra?: readonly HeaderLine[];
  /** What is sent in place of the signed body. */
  readonly sent?: string | Buffer;
  readonly method?: string;
  readonly path?: string;
  readonly contentLength?: number | null;
};

let lastId = 0;
export const nextId = () => `msg_${++lastId}`;

/** The bytes of a delivery that is right in everything the options do not change. */
export function deliveryBytes(options: DeliveryOptions = {}): Buffer {
  const body = Buffer.from((options.body ?? JSON.stringify(sampleEvent())) as string);
  const { id = nextId(), timestamp = String(nowSeconds), secret = secretA, method, path } = options;
  const right = signBytes(secret, `${id}.${timestamp}.`, body);
  const signed: readonly HeaderLine[] = [
    ["webhook-id", id],
    ["webhook-timestamp", timestamp],
    ["webhook-signature", options.signature ? options.signature(right) : right],
  ];
  return requestBytes({
    ...(method === undefined ? {} : { method }),
    ...(path === undefined ? {} : { path }),
    headers: [
      ["Content-Type", "application/json"],
      ...(options.headers ? options.headers(signed) : signed),
      ...(options.extra ?? []),
    ],
    body: options.sent ?? body,
    ...(options.contentLength === undefined ? {} : { contentLength: options.contentLength }),
  });
}

const without = (name: string) => (lines: readonly HeaderLine[]) => lines.filter(([given]) => given !== name);
const twice = (name: string) => (lines: readonly HeaderLine[]) => [
  ...lines,
  ...lines.filter(([given]) => given === name),
];

/** A signature for the number inside a timestamp text, as senders that sign the parsed number would make it. */
function signedNumber(timestamp: string): DeliveryOptions {
  const id = nextId();
  const body = JSON.stringify(sampleEvent());
  return {
    id,
    body,
    timestamp,
    signature: () => signBytes(secretA, `${id}.${nowSeconds}.`, Buffer.from(body)),
  };
}

/** A delivery whose right signature has a character that base64url writes differently. */
function signedWithPlusOrSlash(respell: (right: string) => string): DeliveryOptions {
  const body = JSON.stringify(sampleEvent());
  for (;;) {
    const id = nextId();
    const right = signBytes(secretA, `${id}.${nowSeconds}.`, Buffer.from(body));
    if (/[+/]/.test(right.slice(3))) return { id, body, signature: respell };
  }
}

function signedWithEmptyKey(): DeliveryOptions {
  const id = nextId();
  const body = JSON.stringify(sampleEvent());
  const mac = createHmac("sha256", "").update(`${id}.${nowSeconds}.${body}`).digest("base64");
  return { id, body, signature: () => `v1,${mac}` };
}

const wrongSignature = `v1,${Buffer.alloc(32, 1).toString("base64")}`;
const respellLastBits = (right: string) => {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return `${right.slice(0, -2)}${alphabet[alphabet.indexOf(right.at(-2) ?? "") ^ 1]}=`;
};

const compact = JSON.stringify(sampleEvent());
const pretty = JSON.stringify(JSON.parse(compact), null, 2);
const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
const eventWith = (member: string) => `${JSON.stringify(sampleEvent()).slice(0, -1)},${member}}`;
const padded = (bytes: number) => {
  const event = JSON.stringify(sampleEvent());
  return `${event.slice(0, -1)},"padding":"${"x".repeat(bytes - event.length - 13)}"}`;
};
const signedPlain = (sent: (plain: Buffer) => Buffer, ...extra: HeaderLine[]): DeliveryOptions => {
  const body = Buffer.from(JSON.stringify(sampleEvent()));
  return { body, sent: sent(body), extra };
};

type Row = readonly [
  number: string,
  what: string,
  options: DeliveryOptions | Buffer,
  status: number,
  outcome: AdversarialRequest["outcome"],
];

const rows: readonly Row[] = [
  ["1", "a valid delivery", {}, 200, "accepted"],
  ["8a", "signed 300 s ago", { timestamp: String(nowSeconds - 300) }, 200, "accepted"],
  ["8b", "signed 300 s in the future", { timestamp: String(nowSeconds + 300) }, 200, "accepted"],
  ["9a", "signed 301 s ago", { timestamp: String(nowSeconds - 301) }, 401, "TIMESTAMP_TOO_OLD"],
  ["9b", "signed 301 s in the future", { timestamp: String(nowSeconds + 301) }, 401, "TIMESTAMP_TOO_NEW"],
  [
    "10",
    "a letter after the timestamp, signed as its number",
    signedNumber(`${nowSeconds}x`),
    400,
    "TIMESTAMP_MALFORMED",
  ],
  ["11a", "a plus before the timestamp", signedNumber(`+${nowSeconds}`), 400, "TIMESTAMP_MALFORMED"],
  ["11b", "zeros before the timestamp", signedNumber(`00${nowSeconds}`), 400, "TIMESTAMP_MALFORMED"],
  [
    "11c",
    "a no-break space before the timestamp",
    signedNumber(`\xa0${nowSeconds}`),
    400,
    "TIMESTAMP_MALFORMED",
  ],
  ["11d", "a space inside the timestamp", signedNumber(`${nowSeconds} 0`), 400, "TIMESTAMP_MALFORMED"],
  ["12a", "a timestamp in milliseconds", { timestamp: `${nowSeconds}000` }, 400, "TIMESTAMP_MALFORMED"],
  ["12b", "a timestamp as ISO 8601 text", { timestamp: "2026-03-01T09:30:00Z" }, 400, "TIMESTAMP_MALFORMED"],
  ["12c", "a timestamp with an exponent", { timestamp: "1.7723574e9" }, 400, "TIMESTAMP_MALFORMED"],
  ["12d", "a hexadecimal timestamp", { timestamp: "0x69a40a18" }, 400, "TIMESTAMP_MALFORMED"],
  ["12e", "a negative timestamp", { timestamp: "-5" }, 400, "TIMESTAMP_MALFORMED"],
  ["12f", "a timestamp that is no number", { timestamp: "NaN" }, 400, "TIMESTAMP_MALFORMED"],
  ["12g", "an empty timestamp", { timestamp: "" }, 400, "TIMESTAMP_MALFORMED"],
  ["13", "a timestamp of 20 digits", { timestamp: "17723574001772357400" }, 400, "TIMESTAMP_MALFORMED"],
  ["14a", "no webhook-id", { headers: without("webhook-id") }, 400, "HEADER_MISSING"],
  ["14b", "no webhook-timestamp", { headers: without("webhook-timestamp") }, 400, "HEADER_MISSING"],
  ["14c", "no webhook-signature", { headers: without("webhook-signature") }, 400, "HEADER_MISSING"],
  ["14d", "no header at all", { headers: () => [] }, 400, "HEADER_MISSING"],
  ["15", "webhook-id twice", { headers: twice("webhook-id") }, 400, "HEADER_REPEATED"],
  ["16", "webhook-timestamp twice", { headers: twice("webhook-timestamp") }, 400, "HEADER_REPEATED"],
  [
    "17",
    "webhook-signature twice, one of them right",
    { extra: [["Webhook-Signature", wrongSignature]] },
    400,
    "HEADER_REPEATED",
  ],
  [
    "18a",
    "right headers of another family beside wrong ones of ours",
    {
      headers: (lines) => [
        ...lines.map(([name, value]): HeaderLine => [name.replace("webhook", "svix"), value]),
        ...lines.map(
          ([name, value]): HeaderLine => [name, name.endsWith("signature") ? wrongSignature : value],
        ),
      ],
    },
    401,
    "SIGNATURE_MISMATCH",
  ],
  [
    "18b",
    "right headers of another family only",
    {
      headers: (lines) => lines.map(([name, value]): HeaderLine => [name.replace("webhook", "svix"), value]),
    },
    400,
    "HEADER_MISSING",
  ],
  [
    "19",
    "a signature with one bit flipped",
    {
      signature: (right) => {
        const mac = Buffer.from(right.slice(3), "base64");
        mac.writeUInt8(mac.readUInt8(0) ^ 1, 0);
        return `v1,${mac.toString("base64")}`;
      },
    },
    401,
    "SIGNATURE_MISMATCH",
  ],
  ["20a", "a signature cut short", { signature: (right) => right.slice(0, 20) }, 401, "SIGNATURE_MISMATCH"],
  ["20b", "a version and a comma only", { signature: () => "v1," }, 400, "SIGNATURE_MALFORMED"],
  ["20c", "a version only", { signature: () => "v1" }, 400, "SIGNATURE_MALFORMED"],
  ["20d", "an empty signature header", { signature: () => "" }, 400, "SIGNATURE_MALFORMED"],
  [
    "21a",
    "a signature in base64url",
    signedWithPlusOrSlash((right) => right.replaceAll("+", "-").replaceAll("/", "_")),
    401,
    "SIGNATURE_MISMATCH",
  ],
  [
    "21b",
    "a signature without padding",
    { signature: (right) => right.replace(/=$/, "") },
    401,
    "SIGNATURE_MISMATCH",
  ],
  ["21c", "another spelling of the right bytes", { signature: respellLastBits }, 401, "SIGNATURE_MISMATCH"],
  [
    "21d",
    "a signature in hexadecimal",
    { signature: (right) => `v1,${Buffer.from(right.slice(3), "base64").toString("hex")}` },
    401,
    "SIGNATURE_MISMATCH",
  ],
  [
    "22a",
    "the right signature as version V1",
    { signature: (right) => right.replace("v1", "V1") },
    401,
    "SIGNATURE_MISMATCH",
  ],
  [
    "22b",
    "the right signature as version v2",
    { signature: (right) => right.replace("v1", "v2") },
    401,
    "SIGNATURE_MISMATCH",
  ],
  [
    "22c",
    "the right signature as version v1a",
    { signature: (right) => right.replace("v1", "v1a") },
    401,
    "SIGNATURE_MISMATCH",
  ],
  [
    "23",
    "a third part after the right signature",
    { signature: (right) => `${right},junk` },
    400,
    "SIGNATURE_MALFORMED",
  ],
  [
    "24",
    "the right signature after ten wrong ones",
    { signature: (right) => `${`${wrongSignature} `.repeat(10)}${right}` },
    200,
    "accepted",
  ],
  [
    "25",
    "seventeen signatures, the right one last",
    { signature: (right) => `${`${wrongSignature} `.repeat(16)}${right}` },
    400,
    "SIGNATURE_MALFORMED",
  ],
  [
    "26a",
    "a signature header of 10 KB",
    { signature: (right) => `v2,${"A".repeat(10_000)} ${right}` },
    400,
    "SIGNATURE_MALFORMED",
  ],
  [
    "26b",
    "a signature header of 17 KB",
    { signature: (right) => `v2,${"A".repeat(17_000)} ${right}` },
    431,
    "http",
  ],
  ["27", "signed with the other secret of a rotation", { secret: secretB }, 200, "accepted"],
  ["28", "signed with a secret that is not active", { secret: secretX }, 401, "SIGNATURE_MISMATCH"],
  [
    "29",
    "signed with an active and an unknown secret",
    { signature: (right) => `${wrongSignature} ${right}` },
    200,
    "accepted",
  ],
  ["30", "signed with an empty key", signedWithEmptyKey(), 401, "SIGNATURE_MISMATCH"],
  [
    "32a",
    "one space more than was signed",
    { body: compact, sent: `${compact} ` },
    401,
    "SIGNATURE_MISMATCH",
  ],
  [
    "32b",
    "keys in another order than was signed",
    {
      body: compact,
      sent: JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(compact)).reverse())),
    },
    401,
    "SIGNATURE_MISMATCH",
  ],
  [
    "32c",
    "CRLF where LF was signed",
    { body: pretty, sent: pretty.replaceAll("\n", "\r\n") },
    401,
    "SIGNATURE_MISMATCH",
  ],
  ["32d", "a newline at the end", { body: compact, sent: `${compact}\n` }, 401, "SIGNATURE_MISMATCH"],
  ["32e", "nothing where something was signed", { body: compact, sent: "" }, 401, "SIGNATURE_MISMATCH"],
  [
    "33",
    "parsed and written again",
    { body: pretty, sent: JSON.stringify(JSON.parse(pretty)) },
    401,
    "SIGNATURE_MISMATCH",
  ],
  [
    "34",
    "the byte FF where U+FFFD was signed",
    { body: '{"a":"\uFFFD"}', sent: Buffer.from('{"a":"\xff"}', "latin1") },
    401,
    "SIGNATURE_MISMATCH",
  ],
  [
    "35",
    "bytes that are no UTF-8, signed as they are",
    { body: Buffer.from('{"a":"\xff"}', "latin1") },
    200,
    "quarantined",
  ],
  ["36", "a byte order mark before the JSON", { body: `\uFEFF${compact}` }, 200, "quarantined"],
  [
    "37a",
    "emoji and letters of many scripts",
    { body: JSON.stringify(sampleEvent({ clientId: "Größe 税 🧾" })) },
    200,
    "accepted",
  ],
  ["37b", "an escaped NUL", { body: JSON.stringify(sampleEvent({ clientId: "a\0b" })) }, 200, "accepted"],
  ["37c", "an escaped surrogate pair", { body: eventWith('"note":"\\ud83e\\uddfe"') }, 200, "accepted"],
  ["38", "half an escaped surrogate pair", { body: eventWith('"note":"\\ud800"') }, 200, "accepted"],
  ["39", "an empty body", { body: "" }, 200, "quarantined"],
  ["40a", "a list", { body: "[]" }, 200, "quarantined"],
  ["40b", "null", { body: "null" }, 200, "quarantined"],
  ["40c", "a number", { body: "123" }, 200, "quarantined"],
  ["40d", "a string", { body: '"x"' }, 200, "quarantined"],
  ["41", "JSON cut short", { body: compact.slice(0, -10) }, 200, "quarantined"],
  [
    "42a",
    "an event name nobody knows",
    { body: JSON.stringify({ event: "invoice.paid", id: "1" }) },
    200,
    "accepted",
  ],
  [
    "42b",
    "unknown fields and an unknown stage",
    { body: eventWith('"taskType":"NEW_KIND","future":{"a":[1]}') },
    200,
    "accepted",
  ],
  ["43a", "no taskId", { body: JSON.stringify(sampleEvent({ taskId: undefined })) }, 200, "quarantined"],
  [
    "43b",
    "no occurredAt",
    { body: JSON.stringify(sampleEvent({ occurredAt: undefined })) },
    200,
    "quarantined",
  ],
  ["43c", "no event name", { body: JSON.stringify(sampleEvent({ event: undefined })) }, 200, "quarantined"],
  [
    "43d",
    "a status that contradicts the name",
    { body: JSON.stringify(sampleEvent({ status: "COMPLETED" })) },
    200,
    "quarantined",
  ],
  [
    "44",
    "one key twice, of which the last counts",
    { body: eventWith('"taskType":"BINDER","taskType":"TAX_PREP"') },
    200,
    "accepted",
  ],
  [
    "45",
    "keys that reach for the prototype",
    { body: eventWith('"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}') },
    200,
    "accepted",
  ],
  ["46a", "100,000 lists inside each other", { body: nested(100_000) }, 200, "quarantined"],
  [
    "46b",
    "100,000 lists inside each other in a field",
    { body: eventWith(`"deep":${nested(100_000)}`) },
    200,
    "accepted",
  ],
  ["47a", "a body of exactly the limit", { body: padded(target.bodyBytesMax) }, 200, "accepted"],
  ["47b", "a body of one byte more", { body: padded(target.bodyBytesMax + 1) }, 413, "BODY_TOO_LARGE"],
  ["51a", "a length and chunks at once", { extra: [["Transfer-Encoding", "chunked"]] }, 400, "http"],
  ["51b", "a control character in a header", { extra: [["X-Odd", "a\x01b"]] }, 400, "http"],
  ["51c", "two lengths that differ", { extra: [["Content-Length", "7"]] }, 400, "http"],
  [
    "51d",
    "a length that is no number",
    { contentLength: null, extra: [["Content-Length", "abc"]] },
    400,
    "http",
  ],
  ["51e", "a space before a header's colon", { extra: [["X-Odd ", "a"]] }, 400, "http"],
  [
    "52",
    "gzip of a body that was signed plain",
    signedPlain((plain) => gzipSync(plain), ["Content-Encoding", "gzip"]),
    415,
    "BODY_ENCODED",
  ],
  [
    "53",
    "a gzip bomb of 20 MB",
    {
      body: gzipSync(Buffer.alloc(20_000_000)).subarray(0, target.bodyBytesMax),
      extra: [["Content-Encoding", "gzip"]],
    },
    415,
    "BODY_ENCODED",
  ],
  [
    "53b",
    "an encoding in other spelling",
    { extra: [["content-encoding", "GZIP, br"]] },
    415,
    "BODY_ENCODED",
  ],
  ["53c", "an encoding of identity", { extra: [["Content-Encoding", "identity"]] }, 200, "accepted"],
  ["54a", "no content type", withContentType(undefined), 200, "accepted"],
  ["54b", "plain text", withContentType("text/plain"), 200, "accepted"],
  ["54c", "another JSON type", withContentType("application/cloudevents+json"), 200, "accepted"],
  ["54d", "a form", withContentType("application/x-www-form-urlencoded"), 200, "accepted"],
  ["54e", "a content type that makes no sense", withContentType(";;;="), 200, "accepted"],
  [
    "54f",
    "a body in UTF-16",
    withContentType("application/json; charset=utf-16", Buffer.from(compact, "utf16le")),
    200,
    "quarantined",
  ],
  ["55a", "GET", { method: "GET" }, 405, "METHOD_NOT_ALLOWED"],
  ["55b", "PUT", { method: "PUT" }, 405, "METHOD_NOT_ALLOWED"],
  ["55c", "OPTIONS", { method: "OPTIONS" }, 405, "METHOD_NOT_ALLOWED"],
  ["55d", "DELETE", { method: "DELETE" }, 405, "METHOD_NOT_ALLOWED"],
  ["57", "an id with a dot", { id: "msg.1" }, 200, "accepted"],
  ["59a", "an id of 256 characters", { id: "a".repeat(256) }, 400, "ID_MALFORMED"],
  ["59b", "an id with a space", { id: "msg 1" }, 400, "ID_MALFORMED"],
  ["59c", "an id with a quote", { id: 'msg"1' }, 400, "ID_MALFORMED"],
  ["59d", "an id with a brace", { id: "msg{1" }, 400, "ID_MALFORMED"],
  ["59e", "an id with letters beyond ASCII", { id: "Gr\xf6\xdfe" }, 400, "ID_MALFORMED"],
  ["59f", "an id made of SQL", { id: "'; drop table inbox; --" }, 400, "ID_MALFORMED"],
  ["59g", "an empty id", { id: "" }, 400, "ID_MALFORMED"],
  [
    "65",
    "an event of the year 2099",
    { body: JSON.stringify(sampleEvent({ occurredAt: "2099-01-01T00:00:00Z" })) },
    200,
    "quarantined",
  ],
  [
    "64a",
    "a time with an offset",
    { body: JSON.stringify(completedEvent({ occurredAt: "2026-03-01T11:30:00+02:00" })) },
    200,
    "accepted",
  ],
  [
    "64b",
    "a time with a lower-case z",
    { body: JSON.stringify(completedEvent({ occurredAt: "2026-03-01t09:30:00z" })) },
    200,
    "accepted",
  ],
  [
    "64c",
    "a time without a zone",
    { body: JSON.stringify(completedEvent({ occurredAt: "2026-03-01T09:30:00" })) },
    200,
    "quarantined",
  ],
  [
    "64d",
    "a second number 60",
    { body: JSON.stringify(completedEvent({ occurredAt: "2026-03-01T09:30:60Z" })) },
    200,
    "quarantined",
  ],
  [
    "64e",
    "the year 10000",
    { body: JSON.stringify(completedEvent({ occurredAt: "10000-01-01T00:00:00Z" })) },
    200,
    "quarantined",
  ],
  [
    "64f",
    "a day that does not exist",
    { body: JSON.stringify(completedEvent({ occurredAt: "2026-02-30T00:00:00Z" })) },
    200,
    "quarantined",
  ],
  ["81", "a query behind the path", { path: "/webhooks?from=somewhere" }, 200, "accepted"],
  [
    "82",
    "header names in odd case",
    { headers: (lines) => lines.map(([name, value]): HeaderLine => [name.toUpperCase(), value]) },
    200,
    "accepted",
  ],
  [
    "83",
    "a hundred other headers",
    { extra: Array.from({ length: 100 }, (_, n): HeaderLine => [`X-Header-${n}`, "a"]) },
    200,
    "accepted",
  ],
  [
    "84",
    "a forwarded signature that is right beside ours that is wrong",
    { signature: () => wrongSignature, extra: [["X-Webhook-Signature", "v1,right"]] },
    401,
    "SIGNATURE_MISMATCH",
  ],
  ["85", "chunks, with the signature in the trailer", trailerBytes(), 400, "HEADER_MISSING"],
  ["86", "chunks, without a length", chunkedBytes(JSON.stringify(sampleEvent())), 200, "accepted"],
  [
    "87",
    "chunks with extensions",
    chunkedBytes(JSON.stringify(sampleEvent()), ";name=value"),
    200,
    "accepted",
  ],
];

function withContentType(
  contentType: string | undefined,
  body: string | Buffer = JSON.stringify(sampleEvent()),
): Buffer {
  const id = nextId();
  const bytes = Buffer.from(body as string);
  return requestBytes({
    headers: [
      ...(contentType === undefined ? [] : [["Content-Type", contentType] as const]),
      ["webhook-id", id],
      ["webhook-timestamp", String(nowSeconds)],
      ["webhook-signature", signBytes(secretA, `${id}.${nowSeconds}.`, bytes)],
    ],
    body: bytes,
  });
}

/** A delivery in chunks of seven bytes. */
export function chunkedBytes(body: string, extension = ""): Buffer {
  const id = nextId();
  const chunks =
    Buffer.from(body)
      .toString("latin1")
      .match(/[\s\S]{1,7}/g) ?? [];
  const framed = chunks.map((chunk) => `${chunk.length.toString(16)}${extension}\r\n${chunk}\r\n`).join("");
  return requestBytes({
    headers: [
      ["webhook-id", id],
      ["webhook-timestamp", String(nowSeconds)],
      ["webhook-signature", signBytes(secretA, `${id}.${nowSeconds}.`, Buffer.from(body))],
      ["Transfer-Encoding", "chunked"],
    ],
    body: Buffer.from(`${framed}0\r\n\r\n`, "latin1"),
    contentLength: null,
  });
}

function trailerBytes(): Buffer {
  const id = nextId();
  const body = JSON.stringify(sampleEvent());
  const signature = signBytes(secretA, `${id}.${nowSeconds}.`, Buffer.from(body));
  return requestBytes({
    headers: [
      ["webhook-id", id],
      ["webhook-timestamp", String(nowSeconds)],
      ["Transfer-Encoding", "chunked"],
      ["Trailer", "webhook-signature"],
    ],
    body: `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\nwebhook-signature: ${signature}\r\n\r\n`,
    contentLength: null,
  });
}

export const adversarialRequests: readonly AdversarialRequest[] = rows.map(
  ([number, what, options, status, outcome]) => ({
    number,
    what,
    bytes: Buffer.isBuffer(options) ? options : deliveryBytes(options),
    status,
    outcome,
  }),
);
