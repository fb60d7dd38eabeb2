import { randomBytes } from "node:crypto";
import { type Connection, openConnection, type ProbeResult } from "./connection.ts";
import { UnfinishedError, UnreachableError } from "./errors.ts";
import type { Observer } from "./observer.ts";
import type { ResolvedAuditOptions } from "./options.ts";
import { createSampleEvents, type JsonObject, type SampleEvents } from "./sample-events.ts";
import * as signing from "./signing.ts";

export interface ComposeOptions {
  readonly id?: string;
  /** How long ago it was sent; negative lies in the future. */
  readonly ageSeconds?: number;
  readonly payload?: JsonObject;
  /** The exact body, instead of a payload. */
  readonly body?: Buffer | string;
}

export interface RoundTrip {
  readonly delivery: signing.Delivery;
  readonly result: ProbeResult;
}

/** The receiver under attack, as the checks see it, with the options of the run. */
export interface Target extends ResolvedAuditOptions {
  readonly observer: Observer | undefined;
  readonly canary: string;
  readonly samples: SampleEvents;
  /** Every round trip so far, for the checks that review responses. */
  readonly transcript: readonly RoundTrip[];
  /** Whether a text contains a secret, or its key in any encoding. */
  reveals(text: string): boolean;
  nextId(): string;
  /** A delivery that a correct receiver acknowledges. */
  compose(options?: ComposeOptions): signing.Delivery;
  /** The same, signed with a key that the receiver cannot know. */
  forge(options?: ComposeOptions): signing.Delivery;
  sign(content: signing.SignedContent): string;
  signForged(content: signing.SignedContent): string;
  /** Sends one request on its own connection. @throws {UnreachableError} */
  send(delivery: signing.Delivery): Promise<ProbeResult>;
  connect(): Connection;
  /** Uses one connection and closes it. */
  withConnection<Result>(use: (connection: Connection) => Promise<Result>): Promise<Result>;
  /** The bytes of a request, for checks that use a connection themselves. */
  request(delivery: signing.Delivery): Buffer;
  /** Waits for a response to `delivery` on an own connection, and adds it to the transcript. @throws {UnreachableError} */
  receive(delivery: signing.Delivery, connection: Connection, timeoutMs?: number): Promise<ProbeResult>;
  wait(ms: number): Promise<void>;
  /** What is left of the time limit of the whole run. */
  leftMs(): number;
  /** Closes all connections, also of checks that were given up; they can open no others. */
  close(): void;
}

export function createTarget(options: ResolvedAuditOptions): Target {
  const { secret, oldSecret, clock } = options;
  const url = new URL(options.url);
  const canary = `canary-${randomBytes(9).toString("hex")}`;
  const unknownKey = randomBytes(32);
  const transcript: RoundTrip[] = [];
  const connections = new Set<Connection>();
  const deadline = clock.monotonic() + options.runTimeoutMs;
  let isClosed = false;
  const nextId = () => `audit_${randomBytes(12).toString("hex")}`;
  const samples = createSampleEvents(canary, nextId, clock.now);
  const secrets = [secret, oldSecret ?? secret];
  const keyForms = secrets.flatMap((each) =>
    (["base64", "base64url", "hex"] as const).map((encoding) => signing.keyOf(each).toString(encoding)),
  );
  const revealing = [...secrets.map((each) => each.replace(/^whsec_/, "")), ...keyForms];

  const target: Target = {
    ...options,
    observer: undefined,
    canary,
    samples,
    transcript,
    reveals: (text) => revealing.some((form) => text.includes(form)),
    nextId,
    compose({ id = nextId(), ageSeconds = 0, payload = samples.task(), body } = {}) {
      const timestamp = String(Math.floor(clock.now() / 1000) - ageSeconds);
      const content = { id, timestamp, body: Buffer.from(body ?? JSON.stringify(payload)) };
      return { ...content, signature: target.sign(content) };
    },
    forge(composeOptions) {
      const delivery = target.compose(composeOptions);
      return { ...delivery, signature: target.signForged(delivery) };
    },
    sign: (content) => signing.sign(content, secret),
    signForged: (content) => signing.signWithKey(content, unknownKey),
    send(delivery) {
      return target.withConnection((connection) => {
        // Not awaited: a receiver may respond without reading the body to its end.
        void connection.write(target.request(delivery));
        return target.receive(delivery, connection);
      });
    },
    connect() {
      if (isClosed) throw new UnfinishedError("the run has ended");
      const connection = openConnection(url, clock);
      connections.add(connection);
      return connection;
    },
    async withConnection(use) {
      const connection = target.connect();
      try {
        return await use(connection);
      } finally {
        connection.close();
        connections.delete(connection);
      }
    },
    request: (delivery) => requestBytes(url, delivery),
    async receive(delivery, connection, timeoutMs = options.timeoutMs) {
      const result = await connection.response(timeoutMs);
      if (result.kind === "unreachable") throw new UnreachableError(result.code);
      transcript.push({ delivery, result });
      return result;
    },
    wait: (ms) => new Promise((resolve) => void clock.schedule(ms, resolve)),
    leftMs: () => deadline - clock.monotonic(),
    close() {
      isClosed = true;
      for (const connection of connections) connection.close();
    },
  };
  return target;
}

function requestBytes({ host, pathname, search }: URL, delivery: signing.Delivery): Buffer {
  const { method = "POST", without = [], rename = String, extraHeaders = [] } = delivery;
  const body = delivery.wireBody ?? delivery.body;
  const contentType = "contentType" in delivery ? delivery.contentType : "application/json";
  const lines: readonly signing.HeaderLine[] = [
    ["host", host],
    ["user-agent", "workspace-tasks-check-receiver"],
    ["connection", delivery.keepAlive ? "keep-alive" : "close"],
    ...(contentType === undefined ? [] : [["content-type", contentType] as const]),
    delivery.chunked
      ? ["transfer-encoding", "chunked"]
      : ["content-length", String(delivery.contentLength ?? body.length)],
    ...signing.signedHeaders
      .filter((header) => !without.includes(header))
      .map((header) => [rename(`webhook-${header}`), delivery[header]] as const),
    ...extraHeaders,
  ];
  const head = [`${method} ${pathname}${search} HTTP/1.1`, ...lines.map((line) => line.join(": ")), "\r\n"];
  // latin1: a header is bytes, and some checks put bytes outside ASCII there.
  return Buffer.concat([Buffer.from(head.join("\r\n"), "latin1"), delivery.chunked ? inChunks(body) : body]);
}

function inChunks(body: Buffer): Buffer {
  const half = Math.ceil(body.length / 2);
  const chunks = [body.subarray(0, half), body.subarray(half)]
    .filter(({ length }) => length > 0)
    .flatMap((chunk) => [Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from("\r\n")]);
  return Buffer.concat([...chunks, Buffer.from("0\r\n\r\n")]);
}
