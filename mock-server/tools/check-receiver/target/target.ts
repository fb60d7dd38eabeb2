import { randomBytes } from "node:crypto";
import { exampleEvent, type KnownEventName } from "@workspace-tasks/events";
import { type Clock, systemClock } from "@workspace-tasks/kernel/clock.ts";
import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { defaults, parseOptions, parseSecret, signatureOf } from "@workspace-tasks/receiver-kit/parts";
import { Webhook } from "standardwebhooks";
import { connectionCodeOf } from "../../connection-errors.ts";
import { type Connection, openConnection, type ProbeResult } from "./connection.ts";

export interface AuditOptions {
  /** Where the receiver takes deliveries; http or https. */
  readonly url: string;
  /** The signing secret of the endpoint. Never printed, stored or put into a report. */
  readonly secret: string;
  /** A secret that is still in its grace period; without it its checks are skipped. */
  readonly oldSecret?: string | undefined;
  /** Ids or subjects of checks; all when absent or empty. */
  readonly only?: readonly string[] | undefined;
  /** The receiver's tolerance for timestamps. Default 300. */
  readonly toleranceSeconds?: number | undefined;
  /**
   * A URL of the receiver that returns what it did: `?id=<webhook-id>` returns `{ "count": n }`, how often the
   * delivery took effect, and `?taskId=<id>` may return `{ "status": "…" }`. Without it duplicates are judged by
   * responses only.
   */
  readonly observeUrl?: string | undefined;
  /** How long an effect may take to show after the acknowledgement. Default 10,000. */
  readonly observeTimeoutMs?: number | undefined;
  /** How long to wait for further effects of a delivery. Default 300. */
  readonly observeSettleMs?: number | undefined;
  /** Time limit for one response; for one of the observe URL at least 10,000. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** Time within which the receiver must give up on a stalled body. Default 20,000. */
  readonly stallTimeoutMs?: number | undefined;
  /** Slowest acknowledgement that is not reported. Default 3,000. */
  readonly responseTimeMsMax?: number | undefined;
  /** Time limit for the whole run; checks that it stops are `unfinished`. Default 180,000. */
  readonly runTimeoutMs?: number | undefined;
  /** Checks that run at the same time. Default 4. */
  readonly concurrency?: number | undefined;
  /** Stops the run early; stopped checks are `unfinished`. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: AuditProgress) => void) | undefined;
  readonly clock?: Clock | undefined;
}

export interface AuditProgress {
  readonly done: number;
  readonly total: number;
  readonly id: string;
}

export const auditDefaults = {
  toleranceSeconds: defaults.toleranceSeconds,
  observeTimeoutMs: 10_000,
  observeSettleMs: 300,
  timeoutMs: 10_000,
  stallTimeoutMs: 20_000,
  responseTimeMsMax: 3_000,
  runTimeoutMs: 180_000,
  concurrency: 4,
} as const;

const httpUrl = s.refine<string>(
  "an http or https URL",
  (given) => typeof given === "string" && URL.canParse(given) && /^https?:/i.test(given),
);

const schema = s.strictOptions<AuditOptions>()({
  url: httpUrl,
  secret: s.string,
  oldSecret: s.optional(s.string),
  only: s.withDefault(s.array(s.string), []),
  toleranceSeconds: s.withDefault(s.positiveInteger, auditDefaults.toleranceSeconds),
  observeUrl: s.optional(httpUrl),
  observeTimeoutMs: s.withDefault(s.durationMs, auditDefaults.observeTimeoutMs),
  observeSettleMs: s.withDefault(s.durationMs, auditDefaults.observeSettleMs),
  timeoutMs: s.withDefault(s.durationMs, auditDefaults.timeoutMs),
  stallTimeoutMs: s.withDefault(s.durationMs, auditDefaults.stallTimeoutMs),
  responseTimeMsMax: s.withDefault(s.durationMs, auditDefaults.responseTimeMsMax),
  runTimeoutMs: s.withDefault(s.durationMs, auditDefaults.runTimeoutMs),
  concurrency: s.withDefault(s.positiveInteger, auditDefaults.concurrency),
  signal: s.optional(s.abortSignal),
  onProgress: s.optional(s.functionOf<(progress: AuditProgress) => void>()),
  clock: s.withDefault(s.clock, systemClock),
});

type ResolvedAuditOptions = ReturnType<typeof resolveAuditOptions>;

/** @throws {ReceiverError} `CONFIGURATION_INVALID`, or `SECRET_INVALID` */
export function resolveAuditOptions(given: AuditOptions) {
  const options = parseOptions("auditReceiver", schema, given);
  parseSecret(options.secret, "auditReceiver: secret");
  if (options.oldSecret !== undefined) parseSecret(options.oldSecret, "auditReceiver: oldSecret");
  return options;
}

interface ComposeOptions {
  readonly id?: string;
  /** How long ago it was sent; negative lies in the future. */
  readonly ageSeconds?: number;
  readonly payload?: JsonObject;
  /** The exact body, instead of a payload. */
  readonly body?: Buffer | string;
}

export interface RoundTrip {
  readonly delivery: Delivery;
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
  compose(options?: ComposeOptions): Delivery;
  /** The same, signed with a key that the receiver cannot know. */
  forge(options?: ComposeOptions): Delivery;
  sign(content: SignedContent): string;
  signForged(content: SignedContent): string;
  /** Sends one request on its own connection. @throws {UnreachableError} */
  send(delivery: Delivery): Promise<ProbeResult>;
  connect(): Connection;
  /** Uses one connection and closes it. */
  withConnection<Result>(use: (connection: Connection) => Promise<Result>): Promise<Result>;
  /** The bytes of a request, for checks that use a connection themselves. */
  request(delivery: Delivery): Buffer;
  /** Waits for a response to `delivery` on an own connection, and adds it to the transcript. @throws {UnreachableError} */
  receive(delivery: Delivery, connection: Connection, timeoutMs?: number): Promise<ProbeResult>;
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
    (["base64", "base64url", "hex"] as const).map((encoding) => keyOf(each).toString(encoding)),
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
    sign: (content) => sign(content, secret),
    signForged: (content) => signWithKey(content, unknownKey),
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

function requestBytes({ host, pathname, search }: URL, delivery: Delivery): Buffer {
  const { method = "POST", without = [], rename = String, extraHeaders = [] } = delivery;
  const body = delivery.wireBody ?? delivery.body;
  const contentType = "contentType" in delivery ? delivery.contentType : "application/json";
  const lines: readonly HeaderLine[] = [
    ["host", host],
    ["user-agent", "workspace-tasks-check-receiver"],
    ["connection", delivery.keepAlive ? "keep-alive" : "close"],
    ...(contentType === undefined ? [] : [["content-type", contentType] as const]),
    delivery.chunked
      ? ["transfer-encoding", "chunked"]
      : ["content-length", String(delivery.contentLength ?? body.length)],
    ...signedHeaders
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

/** A check has no result, for the reason in the message. */
export class UnfinishedError extends Error {
  override readonly name: string = "UnfinishedError";
}

/** The observe URL did not return what it should. */
export class ObserverError extends UnfinishedError {
  override readonly name = "ObserverError";
}

/** The connection could not be opened. */
export class UnreachableError extends UnfinishedError {
  override readonly name = "UnreachableError";
  readonly code: string;

  constructor(code: string) {
    super(`could not connect (${code})`);
    this.code = code;
  }
}

export type HeaderLine = readonly [name: string, value: string];

interface SignedContent {
  readonly id: string;
  /** The header's text; signed as it is, even when it is not a number. */
  readonly timestamp: string;
  readonly body: Buffer;
}

/** The headers of a delivery, each after `webhook-`. */
export const signedHeaders = ["id", "timestamp", "signature"] as const;
type SignedHeader = (typeof signedHeaders)[number];

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

/** A payload to serialize; some checks send values that no event type allows. */
export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Payloads with the fields of the interface. Each contains the canary, so that a response that repeats a payload is
 * recognized. `overrides` replace or add fields.
 *
 * @see interface §6
 */
function createSampleEvents(canary: string, nextId: () => string, now: () => number) {
  const of = (name: KnownEventName, overrides?: JsonObject): JsonObject => {
    const example = exampleEvent(name);
    const subjects = ["taskId", "subTaskId"].filter((field) => field in example);
    return {
      ...example,
      id: nextId(),
      occurredAt: new Date(now()).toISOString(),
      workspaceId: "audit-workspace",
      clientId: canary,
      ...Object.fromEntries(subjects.map((field) => [field, nextId()])),
      ...overrides,
    };
  };
  return {
    of,
    task: (overrides?: JsonObject) => of("task.running", overrides),
    stage: (overrides?: JsonObject) => of("subtask.completed", overrides),
    documents: (overrides?: JsonObject) => of("documents.synced", overrides),
  };
}

export type SampleEvents = ReturnType<typeof createSampleEvents>;

/** The fields that `task.completed` of a tax preparation adds. */
export function completedTaxPrep(reviewItemCount = 1): JsonObject {
  const item = { severity: "info", category: "audit", description: "review item" };
  return {
    event: "task.completed",
    status: "COMPLETED",
    taxPrepResult: {
      taxYear: 2025,
      returnType: "F1040",
      summary: "audit",
      documentCount: 1,
      extractedFormCount: 1,
      reviewItemCount,
      reviewItems: Array.from({ length: reviewItemCount }, () => item),
    },
  };
}

/**
 * Reads what the receiver did with a delivery from a URL of the receiver: `GET <observe-url>?id=<webhook-id>`
 * returns `{ "count": n }`, how often the delivery took effect. `?taskId=<id>` may return `{ "status": "COMPLETED" }`, the
 * state held for the task.
 */
interface Observer {
  /** How often each delivery took effect, after waiting for one effect and for further ones. */
  effectsOf(ids: readonly string[]): Promise<readonly number[]>;
  /** The state held for a task; `undefined` when the URL does not return it. */
  taskStatus(taskId: string): Promise<string | undefined>;
}

const pollEveryMs = 25;
/** Asking is no delivery: a short limit for those must not end the run on a busy machine. */
const readTimeoutMsMin = 10_000;

/** `sentId` is the id of an acknowledged delivery, `unsentId` one that was never sent. */
export async function createObserver(
  observeUrl: string,
  options: ResolvedAuditOptions,
  sentId: string,
  unsentId: string,
): Promise<Observer> {
  const { clock, observeTimeoutMs, observeSettleMs } = options;
  const timeoutMs = Math.max(readTimeoutMsMin, options.timeoutMs);

  async function read(name: "id" | "taskId", value: string): Promise<Record<string, unknown>> {
    const url = new URL(observeUrl);
    url.searchParams.set(name, value);
    const { status, text } = await get(url, timeoutMs);
    if (status < 200 || status > 299) throw new ObserverError(`the observe URL returned status ${status}`);
    const body = jsonOrUndefined(text);
    if (typeof body === "object" && body !== null) return body as Record<string, unknown>;
    throw new ObserverError("the observe URL did not return a JSON object");
  }
  async function count(id: string): Promise<number> {
    const { count } = await read("id", id);
    if (typeof count === "number") return count;
    throw new ObserverError('the observe URL did not return a number "count"');
  }
  const wait = (ms: number) => new Promise<void>((resolve) => void clock.schedule(ms, resolve));

  async function settledCount(id: string): Promise<number> {
    const deadline = clock.monotonic() + observeTimeoutMs;
    while ((await count(id)) < 1 && clock.monotonic() < deadline) await wait(pollEveryMs);
    await wait(observeSettleMs);
    return count(id);
  }

  if ((await settledCount(sentId)) === 0)
    throw new ObserverError("the observe URL counts no effect of the valid delivery");
  if ((await count(unsentId)) > 0)
    throw new ObserverError("the observe URL counts an effect of a delivery that was not sent");
  return {
    effectsOf: (ids) => Promise.all(ids.map(settledCount)),
    async taskStatus(taskId) {
      const { status } = await read("taskId", taskId);
      return typeof status === "string" ? status : undefined;
    },
  };
}

async function get(url: URL, timeoutMs: number): Promise<{ readonly status: number; readonly text: string }> {
  const request = { signal: AbortSignal.timeout(timeoutMs) };
  try {
    // The second one has a new connection: a server may close one that is kept alive in the instant in which it is used.
    const response = await fetch(url, request).catch(() => fetch(url, request));
    return { status: response.status, text: await response.text() };
  } catch (error) {
    const problem = request.signal.aborted ? `did not respond within ${timeoutMs} ms` : "could not be read";
    const code = connectionCodeOf(error);
    throw new ObserverError(`the observe URL ${problem}${code ? ` (${code})` : ""}`, { cause: error });
  }
}
