// A correct receiver without any of the kit's code, and the same receiver with one flaw at a time. check-receiver
// must pass the first and detect each flaw.

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { gunzipSync } from "node:zlib";
import { isKnownEventName, parseOccurredAt } from "@workspace-tasks/events";
import type { AuditOptions } from "workspace-tasks/check-receiver";
import { type RunningReceiver, serveReceiver } from "./served-receiver.ts";

export interface Detection {
  /** Exactly the checks that fail. */
  readonly detectedBy: readonly string[];
  /** Instead of all checks of the subjects in `detectedBy`. */
  readonly only?: readonly string[];
  readonly options?: Partial<AuditOptions>;
}

const by = (checks: string, rest: Omit<Detection, "detectedBy"> = {}): Detection => ({
  detectedBy: checks.split(" "),
  ...rest,
});
/** No other check is run. */
const alone = (checks: string, options: Detection["options"] = {}): Detection =>
  by(checks, { only: checks.split(" "), options });

/** The flaws that the reference receiver can have, one at a time, and the checks that detect them. */
export const flaws = {
  "accepts-anything": by("signature.forged", {
    only: (
      "signature timestamp.stale timestamp.future rotation.all-wrong transfer.reused-connection " +
      "duplicates.forged-first"
    ).split(" "),
  }),
  "tries-the-seconds-before": by("signature.other-headers"),
  "trusts-several-signatures": by("rotation.all-wrong"),
  "compares-a-prefix": by("signature.missing signature.almost-right signature.other-spelling"),
  "accepts-an-empty-key": by("signature.empty-key"),
  "trims-the-body": by("signature.altered-body signature.replacement-character signature.exact-bytes"),
  "hashes-the-parsed-body": by(
    "signature.altered-body signature.reserialised signature.replacement-character signature.exact-bytes " +
      "events.odd-json bodies.not-json responses.bad-input-is-4xx",
  ),
  "decodes-each-piece": by("signature.replacement-character transfer.in-pieces"),
  "accepts-any-version": by("signature.unknown-version"),
  "splits-at-commas": by("signature.other-spelling"),
  "has-no-past-limit": by("timestamp.stale"),
  "has-no-future-limit": by("timestamp.future timestamp.malformed"),
  "has-a-narrow-window": by("timestamp.within-tolerance"),
  "joins-repeated-headers": by("timestamp.malformed headers.id-missing headers.repeated"),
  "does-not-require-a-timestamp": by("timestamp.missing"),
  "accepts-one-signature-only": by("rotation.one-of-list rotation.old-secret"),
  "counts-signatures-without-limit": by("headers.many-signatures"),
  "is-case-sensitive-about-headers": by("headers.other-case"),
  "prefers-another-header-family": by("headers.other-family-bad headers.other-family-right"),
  "fails-on-odd-ids": by("headers.odd-id"),
  "fails-on-large-headers": by("headers.too-large"),
  "stores-no-ids": by(
    "duplicates.again duplicates.fresh-signature duplicates.concurrent duplicates.other-body",
  ),
  "selects-before-it-inserts": by("duplicates.concurrent"),
  "dedupes-by-body": by("duplicates.distinct duplicates.other-body"),
  "records-ids-before-verifying": by("duplicates.forged-first"),
  "records-ids-before-reading": by("transfer.aborted-then-retried"),
  "lets-the-last-event-win": by("order.older-after-newer order.microseconds order.offsets"),
  "orders-by-milliseconds": by("order.microseconds"),
  "orders-by-text": by("order.offsets"),
  "rejects-documents": by("events.catalog events.documents-other-list events.documents-bare-envelope"),
  "knows-six-events-only": by("events.unknown"),
  "requires-a-customer-error": by("events.error-in-grace"),
  "requires-documents": by("events.documents-other-list"),
  "requires-the-envelope": by("events.documents-bare-envelope"),
  "cannot-store-nul": by("events.odd-strings"),
  "fails-on-unreadable-bodies": by("bodies.not-json bodies.not-an-event"),
  "fails-on-impossible-times": by("bodies.impossible-times"),
  "calls-methods-of-the-event": by("events.prototype-keys"),
  "stops-on-an-unknown-event": alone("events.unknown baseline.still-responding"),
  "requires-exactly-application-json": by("content-type.charset content-type.other"),
  "requires-a-content-length": by("transfer.chunked"),
  "acknowledges-before-reading": alone("signature.forged transfer.truncated"),
  "verifies-as-it-reads": by("transfer.content-length-too-high"),
  "verifies-once-per-connection": by("transfer.reused-connection"),
  "parses-http-leniently": by("transfer.length-and-chunked"),
  "fails-on-compressed-bodies": by("transfer.gzip-bomb"),
  "inflates-bodies": by("transfer.gzip"),
  "reads-without-limit": by("limits.too-large"),
  "stalls-after-many-pieces": alone("limits.tiny-chunks baseline.still-responding", { timeoutMs: 1_000 }),
  "allows-10-kb": by("limits.ordinary-size limits.large-event"),
  "waits-forever-for-bodies": by("slow.stalled-body"),
  "has-a-short-body-timeout": by("slow.trickling-body"),
  "accepts-ten-connections-only": by("slow.others-do-not-block"),
  "accepts-any-method": by("methods.other"),
  "redirects-rejected-requests": by("responses.bad-input-is-4xx responses.no-redirect"),
  "never-responds-to-bad-input": alone(
    "signature.forged timestamp.stale methods.other responses.bad-input-is-4xx",
    { timeoutMs: 1_000 },
  ),
  "reveals-its-secret": by("responses.no-secret"),
  "reveals-the-expected-signature": by("responses.no-expected-signature"),
  "echoes-the-body": by("responses.no-body-echo"),
  "reveals-a-stack-trace": by("responses.no-stack-trace"),
  "responds-late": by("responses.in-time", { options: { responseTimeMsMax: 50 } }),
} satisfies Readonly<Record<string, Detection>>;

export type Flaw = keyof typeof flaws;

export interface ReferenceReceiverOptions {
  /** The first is the newest. */
  readonly secrets: readonly string[];
  readonly flaw?: Flaw;
  readonly bodyTimeoutMs?: number;
  /** Serves https instead of http. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** The observe URL returns a total over all deliveries instead of one per id. */
  readonly totalOnly?: boolean;
}

/** Becomes a response with this status; only some flaws put the text into it. */
class Rejection extends Error {
  readonly status: number;
  constructor(status: number, message = "rejected") {
    super(message);
    this.status = status;
  }
}

interface TaskState {
  readonly occurredAt: string;
  readonly status: string;
}
interface Signed {
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
}

const toleranceSeconds = 300;

export async function startReferenceReceiver(options: ReferenceReceiverOptions): Promise<RunningReceiver> {
  const has = (flaw: Flaw) => options.flaw === flaw;
  const effects = new Map<string, number>();
  const tasks = new Map<string, TaskState>();
  const seen = new Set<string>();
  const trusted = new WeakSet<object>();
  let isStalled = false;
  const keys = options.secrets.map((secret) => Buffer.from(secret.slice("whsec_".length), "base64"));
  if (has("accepts-an-empty-key")) keys.push(Buffer.alloc(0));

  function headerOf(request: IncomingMessage, name: string): string {
    const family =
      has("prefers-another-header-family") && `svix-${name}` in request.headers ? "svix" : "webhook";
    const values = has("is-case-sensitive-about-headers")
      ? request.rawHeaders.flatMap((text, at) =>
          at % 2 === 0 && text === `${family}-${name}` ? [request.rawHeaders[at + 1] ?? ""] : [],
        )
      : (request.headersDistinct[`${family}-${name}`] ?? []);
    if (values.length > 1 && has("joins-repeated-headers")) return values.join(", ");
    if (values.length !== 1) {
      if (name === "timestamp" && has("does-not-require-a-timestamp")) return "";
      throw new Rejection(400);
    }
    return values[0] ?? "";
  }

  function signedHeaders(request: IncomingMessage): Signed {
    const signature = headerOf(request, "signature");
    const timestamp = headerOf(request, "timestamp");
    const id = headerOf(request, "id");
    const isPlainId = /^[A-Za-z0-9._:~-]{1,255}$/.test(id);
    if (!isPlainId && has("fails-on-odd-ids")) throw new Error("ER_DATA_TOO_LONG");
    if (!isPlainId && !has("joins-repeated-headers")) throw new Rejection(400);
    if (signature.length > 8_192 && !has("counts-signatures-without-limit")) throw new Rejection(400);
    return { id, timestamp: checkedTimestamp(timestamp), signature };
  }

  function checkedTimestamp(text: string): string {
    const lenient = has("joins-repeated-headers");
    const seconds = lenient ? Number.parseInt(text, 10) : Number(text);
    if (has("does-not-require-a-timestamp") && text === "") return text;
    const pattern = has("has-no-future-limit") ? /^[1-9][0-9]*$/ : /^[1-9][0-9]{0,11}$/;
    if (!lenient && !pattern.test(text)) throw new Rejection(400);
    const ageSeconds = Math.floor(Date.now() / 1000) - seconds;
    const window = has("has-a-narrow-window") ? 150 : toleranceSeconds;
    if (!(ageSeconds <= window) && !has("has-no-past-limit")) throw new Rejection(401);
    if (!(ageSeconds >= -window) && !has("has-no-future-limit")) throw new Rejection(401);
    return lenient ? String(seconds) : text;
  }

  function signedBody(body: Buffer): Buffer {
    const text = body.toString("utf8");
    if (has("trims-the-body")) return Buffer.from(text.trim());
    if (has("hashes-the-parsed-body")) return Buffer.from(JSON.stringify(JSON.parse(text)));
    return body;
  }

  function isSignedBy(key: Buffer, { id, timestamp, signature }: Signed, body: Buffer): boolean {
    const seconds = Array.from({ length: has("tries-the-seconds-before") ? 10 : 1 }, (_, back) => back);
    const expected = seconds.map((back) =>
      createHmac("sha256", key)
        .update(`${id}.${back === 0 ? timestamp : Number(timestamp) - back}.`)
        .update(body)
        .digest(),
    );
    const tokens = signature.split(has("joins-repeated-headers") ? /, | / : " ");
    if (tokens.length > 1 && has("trusts-several-signatures")) return true;
    if (tokens.length > 1 && has("accepts-one-signature-only")) throw new Rejection(401);
    return tokens.some((token) => expected.some((digest) => matches(token, digest)));
  }

  function matches(token: string, expected: Buffer): boolean {
    const pattern = has("accepts-any-version")
      ? /^(?:\w+,)?([A-Za-z0-9+/]{43}=)$/
      : has("splits-at-commas")
        ? /^v1,([A-Za-z0-9+/]{43}=)(?:,|$)/
        : has("compares-a-prefix")
          ? /^v1,([A-Za-z0-9+/]*=?)$/
          : /^v1,([A-Za-z0-9+/]{43}=)$/;
    const given = pattern.exec(token)?.[1];
    if (given === undefined) return false;
    const bytes = Buffer.from(given, "base64");
    const isCanonical = bytes.toString("base64") === given;
    if (has("compares-a-prefix")) return expected.subarray(0, bytes.length).equals(bytes);
    if (!isCanonical) return false;
    return bytes.length === expected.length && timingSafeEqual(bytes, expected);
  }

  function verify(signed: Signed, body: Buffer): void {
    if (has("accepts-anything")) return;
    const hashed = signedBody(body);
    if (keys.some((key) => isSignedBy(key, signed, hashed))) return;
    const right = createHmac("sha256", keys[0] ?? "")
      .update(`${signed.id}.${signed.timestamp}.`)
      .update(hashed)
      .digest("base64");
    throw new Rejection(
      401,
      has("reveals-the-expected-signature") ? `expected v1,${right}` : body.toString(),
    );
  }

  function read(body: Buffer): Record<string, unknown> | undefined {
    if (has("fails-on-unreadable-bodies")) return JSON.parse(body.toString()) as Record<string, unknown>;
    try {
      const value: unknown = JSON.parse(body.toString());
      return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
    } catch {
      // Quarantined.
      return undefined;
    }
  }

  /** What a schema that is too strict rejects. */
  function validate(event: Record<string, unknown>, body: Buffer): void {
    const name = String(event["event"]);
    const rejectIf = (flaw: Flaw, condition: boolean) => {
      if (has(flaw) && condition) throw new Rejection(422);
    };
    rejectIf("rejects-documents", name === "documents.synced");
    rejectIf("knows-six-events-only", !isKnownEventName(name));
    rejectIf("requires-a-customer-error", name === "task.failed" && event["customerError"] === null);
    rejectIf("requires-documents", name === "documents.synced" && !Array.isArray(event["documents"]));
    rejectIf("requires-the-envelope", name === "documents.synced" && typeof event["occurredAt"] !== "string");
    if (has("calls-methods-of-the-event")) void `${event as unknown as string}`;
    if (has("fails-on-impossible-times")) new Date(String(event["occurredAt"] ?? 0)).toISOString();
    if (has("cannot-store-nul") && body.includes("\\u0000")) throw new Error("unsupported Unicode escape");
  }

  async function accept({ id }: Signed, body: Buffer): Promise<void> {
    const event = read(body);
    if (has("fails-on-unreadable-bodies")) String((event as { event?: unknown }).event).trim();
    if (event) validate(event, body);
    const key = has("dedupes-by-body") ? body.toString("base64") : id;
    const isKnown = seen.has(key);
    if (has("selects-before-it-inserts")) await new Promise((resolve) => setTimeout(resolve, 50));
    if (isKnown && !has("stores-no-ids")) return;
    seen.add(key);
    effects.set(id, (effects.get(id) ?? 0) + 1);
    if (event) applyState(event);
  }

  function applyState(event: Record<string, unknown>): void {
    const { taskId, occurredAt, status } = event;
    if (typeof taskId !== "string" || typeof occurredAt !== "string" || typeof status !== "string") return;
    const held = tasks.get(taskId);
    if (!held || isLater(occurredAt, held.occurredAt)) tasks.set(taskId, { occurredAt, status });
  }

  function isLater(text: string, than: string): boolean {
    if (has("lets-the-last-event-win")) return true;
    if (has("orders-by-milliseconds")) return Date.parse(text) >= Date.parse(than);
    if (has("orders-by-text")) return text > than;
    return (parseOccurredAt(text) ?? 0n) > (parseOccurredAt(than) ?? 0n);
  }

  function bodyBytesMax(): number {
    if (has("reads-without-limit")) return Number.POSITIVE_INFINITY;
    return has("allows-10-kb") ? 10 * 1024 : 1024 ** 2;
  }

  function readBody(request: IncomingMessage, signed: Signed): Promise<Buffer> {
    const limit = bodyBytesMax();
    if (Number(request.headers["content-length"] ?? 0) > limit) throw new Rejection(413);
    if (request.destroyed) throw new Rejection(400);
    return new Promise((resolve, reject) => {
      const pieces: Buffer[] = [];
      let text = "";
      let bytes = 0;
      const timeoutMs = has("has-a-short-body-timeout") ? 100 : (options.bodyTimeoutMs ?? 10_000);
      const timer = has("waits-forever-for-bodies")
        ? undefined
        : setTimeout(() => reject(new Rejection(408)), timeoutMs);
      request.on("data", (piece: Buffer) => {
        bytes += piece.length;
        if (bytes > limit) reject(new Rejection(413));
        else pieces.push(piece);
        if (has("stalls-after-many-pieces") && pieces.length > 10_000) isStalled = true;
        if (has("decodes-each-piece")) text += piece.toString();
        // Only then: joining the pieces of a long body again and again would block this process for seconds.
        const soFar = has("verifies-as-it-reads") ? Buffer.concat(pieces) : undefined;
        if (soFar && keys.some((key) => isSignedBy(key, signed, soFar))) resolve(soFar);
      });
      request.on("end", () => resolve(has("decodes-each-piece") ? Buffer.from(text) : Buffer.concat(pieces)));
      request.on("error", () => reject(new Rejection(400)));
      request.on("close", () => clearTimeout(timer));
    });
  }

  function checkRequest(request: IncomingMessage): void {
    if (request.method !== "POST" && !has("accepts-any-method")) throw new Rejection(405);
    const type = request.headers["content-type"] ?? "";
    if (has("requires-exactly-application-json") && type !== "application/json") throw new Rejection(415);
    if (has("requires-a-content-length") && !request.headers["content-length"]) throw new Rejection(411);
    if (Object.values(request.headers).some((value) => String(value).length > 32_768)) {
      throw new Rejection(has("fails-on-large-headers") ? 500 : 431);
    }
    if (request.headers["content-encoding"] && !has("inflates-bodies")) {
      throw new Rejection(has("fails-on-compressed-bodies") ? 500 : 415);
    }
  }

  async function receive(request: IncomingMessage): Promise<void> {
    checkRequest(request);
    if (isStalled) await new Promise(() => {});
    if (has("accepts-anything") && request.headers["webhook-signature"] === undefined) return;
    const signed = has("accepts-anything")
      ? { id: String(request.headers["webhook-id"]), timestamp: "", signature: "" }
      : signedHeaders(request);
    if (has("acknowledges-before-reading")) return void effects.set(signed.id, 1);
    if (has("records-ids-before-reading")) {
      if (seen.has(signed.id)) return;
      seen.add(signed.id);
    }
    let body = await readBody(request, signed);
    if (has("records-ids-before-reading")) seen.delete(signed.id);
    if (has("inflates-bodies") && request.headers["content-encoding"] === "gzip") body = gunzipSync(body);
    if (has("records-ids-before-verifying")) {
      if (seen.has(signed.id)) return;
      seen.add(signed.id);
      verify(signed, body);
      seen.delete(signed.id);
    }
    if (!has("verifies-once-per-connection") || !trusted.has(request.socket)) verify(signed, body);
    trusted.add(request.socket);
    if (has("stops-on-an-unknown-event") && body.includes("audit.invented")) {
      server.close();
      server.closeAllConnections();
    }
    await accept(signed, body);
  }

  function respondToError(response: ServerResponse, error: unknown): void {
    const status = error instanceof Rejection ? error.status : 500;
    if (has("never-responds-to-bad-input") && status >= 400) return;
    const text = error instanceof Error ? error : new Error(String(error));
    let body = "rejected";
    if (has("reveals-its-secret")) body = `bad signature for ${options.secrets[0]}`;
    if (has("reveals-the-expected-signature") || has("echoes-the-body")) body = text.message;
    if (has("reveals-a-stack-trace")) body = String(new Error("rejected").stack);
    if (has("redirects-rejected-requests")) response.setHeader("location", "/login");
    const shown = has("redirects-rejected-requests") ? 302 : status;
    // The rest of a rejected body is not read, so the connection cannot be used again.
    response.writeHead(shown, { connection: "close" }).end(body);
  }

  const httpOptions = { maxHeaderSize: 128 * 1024, insecureHTTPParser: has("parses-http-leniently") };
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    const url = new URL(request.url ?? "/", "http://localhost");
    if (url.pathname === "/effects") {
      respondWithEffects(url, response);
      return;
    }
    void receive(request)
      .then(() => (has("responds-late") ? new Promise((resolve) => setTimeout(resolve, 60)) : undefined))
      .then(
        () => void response.writeHead(200, { "content-type": "application/json" }).end('{"received":true}'),
      )
      .catch((error: unknown) => respondToError(response, error));
  };
  const server = options.tls
    ? createSecureServer({ ...httpOptions, ...options.tls }, handle)
    : createServer(httpOptions, handle);

  if (has("accepts-ten-connections-only")) server.maxConnections = 10;

  function respondWithEffects(url: URL, response: ServerResponse): void {
    const total = [...effects.values()].reduce((sum, count) => sum + count, 0);
    const count = options.totalOnly ? total : (effects.get(url.searchParams.get("id") ?? "") ?? 0);
    const status = tasks.get(url.searchParams.get("taskId") ?? "")?.status;
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ count, status }));
  }

  return serveReceiver(server);
}
