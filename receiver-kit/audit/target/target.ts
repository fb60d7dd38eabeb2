import type { Clock } from "../../clock.ts";
import { type Address, type Connection, openConnection, type ProbeResult } from "./connection.ts";
import { UnreachableError } from "./errors.ts";
import type { Observer } from "./observer.ts";
import { createSampleEvents, type JsonObject, type SampleEvents } from "./sample-events.ts";
import type { Delivery, HeaderLine, SignedContent, Signing } from "./signing.ts";

export interface ComposeOptions {
  readonly id?: string;
  /** How long ago it was sent; negative lies in the future. */
  readonly ageSeconds?: number;
  readonly payload?: JsonObject;
  /** The exact body, instead of a payload. */
  readonly body?: Buffer | string;
}

export interface SendOptions {
  readonly method?: string;
  /** Header lines instead of the signed ones; names may repeat. */
  readonly headers?: readonly HeaderLine[];
  readonly extraHeaders?: readonly HeaderLine[];
  readonly contentType?: string | undefined;
  /** Bytes on the wire instead of the delivery's body. */
  readonly wireBody?: Buffer;
  readonly contentLength?: number;
  readonly chunked?: boolean;
  readonly keepAlive?: boolean;
}

export interface RoundTrip {
  readonly delivery: Delivery;
  readonly result: ProbeResult;
}

export interface TargetLimits {
  /** Time limit for one response. */
  readonly timeoutMs: number;
  readonly toleranceSeconds: number;
  /** Time limit for the receiver to end a request whose body has stalled. */
  readonly stallTimeoutMs: number;
  /** A slower acknowledgement is reported. */
  readonly responseTimeMsMax: number;
}

export interface TargetOptions {
  readonly address: Address;
  readonly signing: Signing;
  readonly secret: string;
  readonly oldSecret?: string | undefined;
  readonly clock: Clock;
  readonly randomBytes: (count: number) => Buffer;
  readonly limits: TargetLimits;
  readonly observer?: Observer | undefined;
}

/** The receiver under attack, as the checks see it. */
export interface Target extends Omit<TargetOptions, "address" | "randomBytes"> {
  readonly canary: string;
  readonly samples: SampleEvents;
  /** Every round trip so far, for the checks that review responses. */
  readonly transcript: readonly RoundTrip[];
  /** Whether a text contains a secret, or its key in any encoding. */
  reveals(text: string): boolean;
  nextId(): string;
  /** A delivery that a correct receiver acknowledges. */
  compose(options?: ComposeOptions): Delivery;
  /** The same, signed with a key that the receiver cannot know. */
  forge(options?: ComposeOptions): Delivery;
  sign(content: SignedContent): string;
  signForged(content: SignedContent): string;
  /** Sends one request on its own connection. @throws {UnreachableError} */
  send(delivery: Delivery, options?: SendOptions): Promise<ProbeResult>;
  connect(): Connection;
  /** Uses one connection and closes it. */
  withConnection<Result>(use: (connection: Connection) => Promise<Result>): Promise<Result>;
  /** The bytes of a request, for checks that use a connection themselves. */
  request(delivery: Delivery, options?: SendOptions): Buffer;
  /** Waits for a response to `delivery` on an own connection, and adds it to the transcript. @throws {UnreachableError} */
  receive(delivery: Delivery, connection: Connection, timeoutMs?: number): Promise<ProbeResult>;
  wait(ms: number): Promise<void>;
}

export function createTarget(options: TargetOptions): Target {
  const { address, signing, secret, clock, limits, randomBytes } = options;
  const canary = `canary-${randomBytes(9).toString("hex")}`;
  const unknownKey = randomBytes(32);
  const transcript: RoundTrip[] = [];
  const nextId = () => `audit_${randomBytes(12).toString("hex")}`;
  const forms = [secret, options.oldSecret].flatMap((each) => (each ? secretForms(signing, each) : []));
  const samples = createSampleEvents({ canary, nextId, now: clock.now });

  const target: Target = {
    ...options,
    canary,
    samples,
    transcript,
    reveals: (text) => forms.some((form) => text.includes(form)),
    nextId,
    compose({ id = nextId(), ageSeconds = 0, payload, body } = {}) {
      const event = payload ?? samples.task();
      const content = {
        id,
        timestamp: String(Math.floor(clock.now() / 1000) - ageSeconds),
        body: Buffer.from(body ?? JSON.stringify(event)),
      };
      return { ...content, event: String(event["event"]), signature: signing.sign(content, secret) };
    },
    forge(composeOptions) {
      const delivery = target.compose(composeOptions);
      return { ...delivery, signature: target.signForged(delivery) };
    },
    sign: (content) => signing.sign(content, secret),
    signForged: (content) => signing.signWithKey(content, unknownKey),
    send(delivery, sendOptions) {
      return target.withConnection((connection) => {
        // Not awaited: a receiver may respond without reading the body to its end.
        void connection.write(target.request(delivery, sendOptions));
        return target.receive(delivery, connection);
      });
    },
    connect: () => openConnection(address, clock),
    async withConnection(use) {
      const connection = target.connect();
      try {
        return await use(connection);
      } finally {
        connection.close();
      }
    },
    request: (delivery, sendOptions = {}) => requestBytes(address, signing, delivery, sendOptions),
    async receive(delivery, connection, timeoutMs = limits.timeoutMs) {
      const result = await connection.response(timeoutMs);
      if (result.kind === "unreachable") throw new UnreachableError(result.code);
      transcript.push({ delivery, result });
      return result;
    },
    wait: (ms) => new Promise((resolve) => void clock.schedule(ms, resolve)),
  };
  return target;
}

/** Every text that would reveal a secret. */
export function secretForms(signing: Signing, secret: string): readonly string[] {
  const key = signing.keyOf(secret);
  const encodings = ["base64", "base64url", "hex"] as const;
  return [secret, secret.replace(/^whsec_/, ""), ...encodings.map((encoding) => key.toString(encoding))];
}

function requestBytes(address: Address, signing: Signing, delivery: Delivery, options: SendOptions): Buffer {
  const body = options.wireBody ?? delivery.body;
  const contentType = "contentType" in options ? options.contentType : "application/json";
  const lines: HeaderLine[] = [
    ["host", address.hostHeader],
    ["user-agent", "workspace-tasks-check-receiver"],
    ["connection", options.keepAlive ? "keep-alive" : "close"],
    ...(contentType === undefined ? [] : [["content-type", contentType] as const]),
    options.chunked
      ? ["transfer-encoding", "chunked"]
      : ["content-length", String(options.contentLength ?? body.length)],
    ...(options.headers ?? signing.headers(delivery)),
    ...(options.extraHeaders ?? []),
  ];
  const head = [
    `${options.method ?? "POST"} ${address.path} HTTP/1.1`,
    ...lines.map((line) => line.join(": ")),
  ];
  // latin1: a header is bytes, and some checks put bytes outside ASCII there.
  return Buffer.concat([
    Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1"),
    options.chunked ? chunks(body) : body,
  ]);
}

function chunks(body: Buffer): Buffer {
  const half = Math.ceil(body.length / 2);
  const parts = [body.subarray(0, half), body.subarray(half)].filter((part) => part.length > 0);
  return Buffer.concat([
    ...parts.flatMap((part) => [Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from("\r\n")]),
    Buffer.from("0\r\n\r\n"),
  ]);
}
