// A careful receiver without any of the kit's code, and, by one flaw at a time, the same receiver with one
// thing wrong. The audit has to pass the first and to catch each of the others.

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { gunzipSync } from "node:zlib";
import { parseOccurredAt } from "workspace-tasks/events";
import type { Flaw } from "./flaws.ts";
import { type RunningReceiver, serveReceiver } from "./running-receiver.ts";

export type ReferenceReceiverOptions = {
  /** The first is the newest. */
  readonly secrets: readonly string[];
  readonly flaw?: Flaw;
  readonly bodyTimeoutMs?: number;
  /** Serves https instead of http. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** Answers effects as a total over all deliveries instead of per id. */
  readonly totalOnly?: boolean;
};

/** Thrown to answer with a status; the text goes into the answer only where a flaw says so. */
class Refusal extends Error {
  readonly status: number;
  constructor(status: number, message = "refused") {
    super(message);
    this.status = status;
  }
}

type TaskState = { readonly occurredAt: string; readonly status: string };
type Signed = { readonly id: string; readonly timestamp: string; readonly signature: string };

const toleranceSeconds = 300;
const catalogue = /^(task\.(running|completed|failed)|subtask\.(completed|failed)|documents\.synced)$/;
const taskTypes = ["BINDER", "TAX_PREP", "TAX_REVIEW", "TAX_ADVISOR", "TAX_PREP_LITE"];
const stages = ["tax-extraction", "reconciliation", "data-entry"];

export async function startReferenceReceiver(options: ReferenceReceiverOptions): Promise<RunningReceiver> {
  const has = (flaw: Flaw) => options.flaw === flaw;
  const effects = new Map<string, number>();
  const tasks = new Map<string, TaskState>();
  const seen = new Set<string>();
  const trusted = new WeakSet<object>();
  const keys = options.secrets
    .slice(0, has("knows-the-new-secret-only") ? 1 : undefined)
    .map((secret) => Buffer.from(secret.slice("whsec_".length), "base64"));
  if (has("accepts-an-empty-key")) keys.push(Buffer.alloc(0));

  function headerOf(request: IncomingMessage, name: string): string {
    const family =
      has("prefers-another-header-family") && `svix-${name}` in request.headers ? "svix" : "webhook";
    const values = has("is-fussy-about-header-case")
      ? request.rawHeaders.flatMap((text, at) =>
          at % 2 === 0 && text === `${family}-${name}` ? [request.rawHeaders[at + 1] ?? ""] : [],
        )
      : (request.headersDistinct[`${family}-${name}`] ?? []);
    if (values.length > 1 && has("joins-repeated-headers")) return values.join(", ");
    if (values.length !== 1) {
      if (name === "id" && has("does-without-an-id")) return "";
      if (name === "timestamp" && has("does-without-a-timestamp")) return "";
      throw new Refusal(400);
    }
    return values[0] ?? "";
  }

  function signedHeaders(request: IncomingMessage): Signed {
    const signature = headerOf(request, "signature");
    const timestamp = headerOf(request, "timestamp");
    const id = headerOf(request, "id");
    const isPlainId = /^[A-Za-z0-9._:~-]{1,255}$/.test(id);
    if (!isPlainId && has("stumbles-over-odd-ids")) throw new Error("ER_DATA_TOO_LONG");
    if (!isPlainId && !has("joins-repeated-headers") && !has("does-without-an-id")) throw new Refusal(400);
    if (signature.length > 4096 && !has("counts-signatures-without-limit")) throw new Refusal(400);
    return { id, timestamp: checkedTimestamp(timestamp), signature };
  }

  function checkedTimestamp(text: string): string {
    const lenient = has("parses-numbers-leniently") || has("joins-repeated-headers");
    const seconds = lenient ? Number.parseInt(text, 10) : Number(text);
    if (has("skips-the-age-of-nonsense") && Number.isNaN(seconds)) return text;
    if (has("does-without-a-timestamp") && text === "") return text;
    if (!lenient && !timestampPattern().test(text)) throw new Refusal(400);
    const unit = has("takes-milliseconds") && text.length === 13 ? 1000 : 1;
    const ageSeconds =
      Math.floor(Date.now() / 1000) - (has("ignores-the-sign") ? Math.abs(seconds) : seconds) / unit;
    const window = has("has-a-narrow-window") ? 150 : toleranceSeconds;
    if (!(ageSeconds <= window) && !has("forgets-the-past-limit")) throw new Refusal(401);
    if (!(ageSeconds >= -window) && !has("forgets-the-future-limit")) throw new Refusal(401);
    return lenient ? String(seconds) : text;
  }

  function timestampPattern(): RegExp {
    if (has("takes-milliseconds")) return /^[1-9][0-9]{0,12}$/;
    if (has("ignores-the-sign")) return /^-?[1-9][0-9]{0,11}$/;
    return has("forgets-the-future-limit") ? /^[1-9][0-9]*$/ : /^[1-9][0-9]{0,11}$/;
  }

  function signedBody(body: Buffer): Buffer {
    const text = body.toString("utf8");
    if (has("hashes-decoded-text")) return Buffer.from(text);
    if (has("drops-the-byte-order-mark")) return Buffer.from(text.replace(/^\uFEFF/, ""));
    if (has("trims-the-body")) return Buffer.from(text.trim());
    if (has("reads-latin1")) return Buffer.from(body.toString("latin1"));
    if (has("hashes-the-parsed-body")) return Buffer.from(JSON.stringify(JSON.parse(text)));
    return body;
  }

  function isSignedBy(key: Buffer, { id, timestamp, signature }: Signed, body: Buffer): boolean {
    const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest();
    let tokens = signature.split(has("joins-repeated-headers") ? /, | / : " ");
    if (tokens.length > 16 && !has("counts-signatures-without-limit")) throw new Refusal(400);
    if (tokens.length > 1 && has("takes-a-single-signature-only")) throw new Refusal(401);
    if (has("reads-the-first-signature-only")) tokens = tokens.slice(0, 1);
    return tokens.some((token) => matches(token, expected));
  }

  function matches(token: string, expected: Buffer): boolean {
    const pattern = has("takes-any-version")
      ? /^(?:\w+,)?([A-Za-z0-9+/]{43}=)$/
      : has("splits-at-commas")
        ? /^v1,([A-Za-z0-9+/]{43}=)(?:,|$)/
        : has("decodes-leniently")
          ? /^v1,([\w+/-]{43}=?)$/
          : has("compares-a-prefix")
            ? /^v1,([A-Za-z0-9+/]*=?)$/
            : /^v1,([A-Za-z0-9+/]{43}=)$/;
    const given = pattern.exec(token)?.[1];
    if (given === undefined) return false;
    const bytes = Buffer.from(given, "base64");
    if (has("compares-a-prefix")) return expected.subarray(0, bytes.length).equals(bytes);
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
    throw new Refusal(401, has("tells-the-expected-signature") ? `expected v1,${right}` : body.toString());
  }

  function read(body: Buffer): Record<string, unknown> | undefined {
    if (has("fails-on-bytes-that-are-not-utf8")) new TextDecoder("utf-8", { fatal: true }).decode(body);
    if (has("fails-on-unreadable-bodies")) return JSON.parse(body.toString()) as Record<string, unknown>;
    try {
      const value: unknown = JSON.parse(body.toString());
      return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
    } catch {
      // Kept aside.
      return undefined;
    }
  }

  /** What a schema that is too tight refuses. */
  function validate(event: Record<string, unknown>, body: Buffer): void {
    const name = String(event["event"]);
    const refuseIf = (flaw: Flaw, condition: boolean) => {
      if (has(flaw) && condition) throw new Refusal(422);
    };
    refuseIf("refuses-documents", name === "documents.synced");
    refuseIf("knows-six-events-only", !catalogue.test(name));
    refuseIf("forbids-unknown-fields", "auditText" in event);
    const isStage = name.startsWith("subtask.");
    refuseIf("knows-three-stages-only", isStage && !stages.includes(String(event["subTaskType"])));
    refuseIf(
      "knows-five-task-types-only",
      name.startsWith("task.") && !taskTypes.includes(String(event["taskType"])),
    );
    refuseIf("demands-a-customer-error", name === "task.failed" && event["customerError"] === null);
    refuseIf("demands-documents", name === "documents.synced" && !Array.isArray(event["documents"]));
    refuseIf("demands-the-envelope", name === "documents.synced" && typeof event["occurredAt"] !== "string");
    if (has("calls-methods-of-the-event")) void `${event as unknown as string}`;
    if (has("fails-on-missing-fields") && name.startsWith("task."))
      String(event["taskId"]).at((event["occurredAt"] as string).length);
    if (has("fails-on-impossible-times")) new Date(String(event["occurredAt"] ?? 0)).toISOString();
    if (has("fails-on-repeated-keys") && body.toString().split('"occurredAt"').length > 2)
      throw new Error("repeated key");
    if (has("cannot-store-nul") && body.includes("\\u0000")) throw new Error("unsupported Unicode escape");
    if (has("cannot-store-lone-surrogates") && body.includes("\\ud800")) throw new Error("invalid surrogate");
  }

  async function accept({ id, signature }: Signed, body: Buffer): Promise<void> {
    const event = read(body);
    if (has("fails-on-unreadable-bodies"))
      String(event?.["event"])
        .trim()
        .at(event?.["event"] ? 0 : Number.NaN);
    if (event) validate(event, body);
    const key = has("dedupes-by-signature")
      ? signature
      : has("dedupes-by-body")
        ? body.toString("base64")
        : has("folds-the-case-of-ids")
          ? id.toLowerCase()
          : id;
    const isKnown = seen.has(key);
    if (isKnown && has("answers-409-to-duplicates")) throw new Refusal(409);
    if (has("looks-before-it-inserts")) await new Promise((resolve) => setTimeout(resolve, 50));
    if (isKnown && !has("forgets-ids")) return;
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
    if (has("allows-10-kb")) return 10 * 1024;
    return has("allows-100-kb") ? 100 * 1024 : 1024 ** 2;
  }

  function readBody(request: IncomingMessage, signed: Signed): Promise<Buffer> {
    const limit = bodyBytesMax();
    if (Number(request.headers["content-length"] ?? 0) > limit) throw new Refusal(413);
    if (request.destroyed) throw new Refusal(400);
    return new Promise((resolve, reject) => {
      const pieces: Buffer[] = [];
      let text = "";
      let bytes = 0;
      const timeoutMs = has("is-impatient") ? 100 : (options.bodyTimeoutMs ?? 10_000);
      const timer = has("waits-forever-for-bodies")
        ? undefined
        : setTimeout(() => reject(new Refusal(408)), timeoutMs);
      request.on("data", (piece: Buffer) => {
        bytes += piece.length;
        if (bytes > limit) reject(new Refusal(413));
        else pieces.push(piece);
        if (has("decodes-each-piece")) text += piece.toString();
        const soFar = Buffer.concat(pieces);
        if (has("verifies-as-it-reads") && keys.some((key) => isSignedBy(key, signed, soFar))) resolve(soFar);
      });
      request.on("end", () => resolve(has("decodes-each-piece") ? Buffer.from(text) : Buffer.concat(pieces)));
      request.on("error", () => reject(new Refusal(400)));
      request.on("close", () => clearTimeout(timer));
    });
  }

  function checkRequest(request: IncomingMessage): void {
    if (request.method !== "POST" && !has("takes-any-method")) {
      throw new Refusal(request.method === "GET" && has("answers-get-with-200") ? 200 : 405);
    }
    const type = request.headers["content-type"] ?? "";
    if (has("wants-application-json") && !/^application\/json\b/i.test(type)) throw new Refusal(415);
    if (has("wants-exactly-application-json") && type !== "application/json") throw new Refusal(415);
    if (has("wants-a-content-length") && !request.headers["content-length"]) throw new Refusal(411);
    if (Object.values(request.headers).some((value) => String(value).length > 32_768)) {
      throw new Refusal(has("stumbles-over-large-headers") ? 500 : 431);
    }
    if (request.headers["content-encoding"] && !has("inflates-bodies")) {
      throw new Refusal(has("chokes-on-compressed-bodies") ? 500 : 415);
    }
  }

  async function receive(request: IncomingMessage): Promise<void> {
    checkRequest(request);
    const mayDoWithout = has("accepts-anything") || has("accepts-unsigned");
    if (mayDoWithout && request.headers["webhook-signature"] === undefined) return;
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
    if (!has("trusts-the-connection") || !trusted.has(request.socket)) verify(signed, body);
    trusted.add(request.socket);
    if (has("dies-of-an-unknown-event") && body.includes("audit.invented")) {
      server.close();
      server.closeAllConnections();
    }
    await accept(signed, body);
  }

  function answerRefusal(response: ServerResponse, error: unknown): void {
    const status = error instanceof Refusal ? error.status : 500;
    const isBadInput = status >= 400 && status !== 409;
    if (has("stays-silent-on-bad-input") && isBadInput) return;
    const text = error instanceof Error ? error : new Error(String(error));
    let body = "refused";
    if (has("tells-its-secret")) body = `bad signature for ${options.secrets[0]}`;
    if (has("tells-the-expected-signature") || has("echoes-the-body")) body = text.message;
    if (has("shows-a-stack-trace")) body = String(new Error("refused").stack);
    if (has("redirects-what-it-refuses")) response.setHeader("location", "/login");
    const shown = has("redirects-what-it-refuses") ? 302 : has("answers-500-to-bad-input") ? 500 : status;
    // The rest of a refused body is not read, so the connection cannot be used again.
    response.writeHead(shown, { connection: "close" }).end(body);
  }

  let turn: Promise<unknown> = Promise.resolve();
  const httpOptions = { maxHeaderSize: 128 * 1024, insecureHTTPParser: has("parses-http-leniently") };
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    const url = new URL(request.url ?? "/", "http://localhost");
    if (url.pathname === "/effects") {
      answerEffects(url, response);
      return;
    }
    const handled = (has("takes-one-connection-at-a-time") ? turn : Promise.resolve())
      .then(() => receive(request))
      .then(() => (has("answers-late") ? new Promise((resolve) => setTimeout(resolve, 60)) : undefined))
      .then(
        () => void response.writeHead(200, { "content-type": "application/json" }).end('{"received":true}'),
      )
      .catch((error: unknown) => answerRefusal(response, error));
    turn = handled;
  };
  const server = options.tls
    ? createSecureServer({ ...httpOptions, ...options.tls }, handle)
    : createServer(httpOptions, handle);

  if (has("takes-ten-connections-only")) server.maxConnections = 10;

  function answerEffects(url: URL, response: ServerResponse): void {
    const total = [...effects.values()].reduce((sum, count) => sum + count, 0);
    const count = options.totalOnly ? total : (effects.get(url.searchParams.get("id") ?? "") ?? 0);
    const status = tasks.get(url.searchParams.get("taskId") ?? "")?.status;
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ count, status }));
  }

  return serveReceiver(server);
}
