// Receives deliveries as a receiver does, with the same checks and limits, and sends what is genuine to a local URL: the same
// bytes under the same headers. What cannot be verified is rejected here, as anyone can reach a public address.

import { once } from "node:events";
import { mkdir, open, readdir, readFile, rm, stat } from "node:fs/promises";
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import https from "node:https";
import { join } from "node:path";
import { ByteBuffer } from "@workspace-tasks/kernel/bytes.ts";
import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { lockFile } from "@workspace-tasks/kernel/file-lock.ts";
import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { privacyOf } from "@workspace-tasks/kernel/private-file.ts";
import { randomName, systemRandom } from "@workspace-tasks/kernel/random.ts";
import { isError } from "@workspace-tasks/kernel/realm.ts";
import { lookupLocalhost } from "@workspace-tasks/mock-server/parts";
import type { WebhookRejectedError } from "@workspace-tasks/receiver-kit";
import { type ReceivedWebhook, verifyWebhook } from "@workspace-tasks/receiver-kit/express";
import { type CallOptions, isWorkspaceTasksError, type WebhookEndpoints } from "@workspace-tasks/sdk";
import { connectHints, connectionCodeOf } from "./connection-errors.ts";

export interface ForwardedDelivery {
  readonly id: string;
  /** Name of the event; `null` for a body that is none, though its signature is valid. */
  readonly event: string | null;
  readonly taskId: string | null;
  /** Time between its signature and its arrival. */
  readonly ageSeconds: number;
  /** HTTP status of the receiver; `null` without a response. */
  readonly status: number | null;
  /** Why there is no response. */
  readonly error: string | null;
  readonly durationMs: number;
}

export interface RejectedRequest {
  readonly status: number;
  readonly reason: string;
}

interface ForwarderOptions {
  readonly forwardTo: URL;
  /** The only path that takes deliveries. */
  readonly path: string;
  /** Waited for: the first delivery can arrive before the response that has the secret. */
  readonly secret: Promise<string>;
  /** A request with this header is the own question whether the public address leads here. */
  readonly probe: string;
  readonly clock: Clock;
  onForwarded(delivery: ForwardedDelivery): void;
  onRejected(request: RejectedRequest): void;
}

export const probeHeader = "workspace-tasks-listen";
const forwardTimeoutMs = 30_000;
const forwardsMax = 64;
const responseBytesMax = 65_536;

/** A server that is not listening yet. */
export function createForwarder(options: ForwarderOptions): http.Server {
  const { path, secret, probe, clock, onRejected } = options;
  let forwarding = 0;
  const reject = (response: ServerResponse, status: number, reason: string, headers = {}) => {
    onRejected({ status, reason });
    response.writeHead(status, { connection: "close", ...headers }).end();
  };
  const verify = verifyWebhook({
    secrets: async () => [await secret],
    clock,
    onRejected: ({ code, message, status }: WebhookRejectedError) =>
      onRejected({ status, reason: `${code}: ${message}` }),
  });
  return http.createServer((request, response) => {
    if (request.headers[probeHeader] === probe)
      return void response.writeHead(204, { [probeHeader]: probe }).end();
    if (pathOf(request) !== path) return reject(response, 404, `expected the path ${path}`);
    if (forwarding >= forwardsMax)
      return reject(response, 503, `${forwardsMax} deliveries wait for the receiver`, { "retry-after": "5" });
    forwarding += 1;
    response.once("close", () => {
      forwarding -= 1;
    });
    verify(request, response, (error) => {
      const { webhook } = request as { webhook?: ReceivedWebhook };
      if (error !== undefined || !webhook) response.destroy();
      else void forward(request, webhook, response, options);
    });
  });
}

const pathOf = ({ url = "/" }: IncomingMessage) => url.replace(/[?#].*$/s, "");

async function forward(
  request: IncomingMessage,
  webhook: ReceivedWebhook,
  response: ServerResponse,
  { forwardTo, clock, onForwarded }: ForwarderOptions,
): Promise<void> {
  const startedMs = clock.monotonic();
  const { id, event, timestamp } = webhook;
  const delivery = {
    id,
    event: event?.event ?? null,
    taskId: event && "taskId" in event ? String(event.taskId) : null,
    ageSeconds: Math.max(0, Math.round(clock.now() / 1_000 - timestamp)),
  };
  const took = () => Math.round(clock.monotonic() - startedMs);
  // The service has closed the connection, or this command ends.
  const gone = new AbortController();
  const { signal } = gone;
  response.once("close", () => gone.abort());
  try {
    const { status, headers, body } = await send(
      { to: forwardTo, headers: headersFor(request, forwardTo, webhook), body: webhook.body, signal },
      clock,
    );
    onForwarded({ ...delivery, status, error: null, durationMs: took() });
    if (!response.destroyed) response.writeHead(status, headers).end(body);
  } catch (error) {
    const reason = signal.aborted ? "the service closed the connection" : reasonOf(error);
    onForwarded({ ...delivery, status: null, error: reason, durationMs: took() });
    if (!response.destroyed) response.writeHead(502).end();
  }
}

function reasonOf(error: unknown): string {
  const code = connectionCodeOf(error);
  const hint = connectHints[code ?? ""];
  if (code && hint) return `${code}: ${hint}`;
  return isError(error) ? error.message : String(error);
}

/** Headers of one connection, or about the body as it came: they are not forwarded. */
const ownHeaders = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Names and values in turn, as received: in their order, with repeated ones. */
function headersFor({ rawHeaders, headers }: IncomingMessage, { host }: URL, { body }: ReceivedWebhook) {
  const named = (headers.connection ?? "").toLowerCase().split(/\s*,\s*/);
  const passed = ["Host", host];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = "", value = ""] = rawHeaders.slice(index, index + 2);
    const lower = name.toLowerCase();
    if (!ownHeaders.has(lower) && !named.includes(lower)) passed.push(name, value);
  }
  return [...passed, "Content-Length", String(body.length), "Connection", "close"];
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

interface Outgoing {
  readonly to: URL;
  readonly headers: readonly string[];
  readonly body: Uint8Array;
  readonly signal: AbortSignal;
}

/** The response of the receiver with the start of its body. Rejects without one in time. */
async function send({ to, headers, body, signal }: Outgoing, clock: Clock): Promise<Answer> {
  const { request: open } = to.protocol === "https:" ? https : http;
  const options = { method: "POST", headers: headers as string[], agent: false as const, signal };
  const outgoing = open(to, { ...options, lookup: lookupLocalhost });
  // What fails after the response has begun ends its body.
  outgoing.on("error", () => {});
  const cancel = clock.schedule(forwardTimeoutMs, () =>
    outgoing.destroy(new Error(`no response within ${forwardTimeoutMs / 1_000} s`)),
  );
  try {
    outgoing.end(body);
    const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
    const { statusCode: status = 502 } = incoming;
    return { status, headers: answerHeaders(incoming), body: await startOf(incoming) };
  } finally {
    cancel();
  }
}

/** The first part of a body, also of one that is cut: the status is known, and it is what counts. */
async function startOf(incoming: IncomingMessage): Promise<Buffer> {
  const start = new ByteBuffer();
  try {
    for await (const chunk of incoming) {
      start.append(chunk);
      if (start.length >= responseBytesMax) break;
    }
  } catch {
    // The rest is lost.
  }
  return Buffer.from(start.toBytes().subarray(0, responseBytesMax));
}

function answerHeaders({ headers }: IncomingMessage): Readonly<Record<string, string>> {
  const kept = ["content-type", "retry-after"].flatMap((name) => {
    const value = headers[name];
    return typeof value === "string" ? [[name, value] as const] : [];
  });
  return Object.fromEntries(kept);
}

// An endpoint that leads to this machine must not outlive the command. Before it is created, a file says which it will be: its
// description has a mark that only this run has. A run that is killed leaves the file, and the next one removes the endpoint
// with that mark, and no other. A lock on the file says whether its run still runs.

/** Whose endpoints they are. */
export interface Owner {
  readonly baseUrl: string;
  readonly workspaceId: string;
}

export interface RecordedRun {
  /** The description of the endpoint. */
  readonly mark: string;
  /** Deletes the record: nothing of the run is left on the service. */
  forget(): Promise<void>;
  /** Lets the next run look for the endpoint. */
  release(): Promise<void>;
}

export interface StateOptions {
  /** Created for its owner alone. */
  readonly folder: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Records that this run will create an endpoint; on disk before it returns. */
export async function recordRun(owner: Owner, { folder, clock }: StateOptions): Promise<RecordedRun> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const name = randomName(systemRandom);
  const path = join(folder, `${name}.json`);
  const mark = `workspace-tasks listen ${name}`;
  const lock = await lockFile(path, { clock });
  if (typeof lock === "string") throw new Error(lock);
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(JSON.stringify({ ...owner, mark, recordedAtMs: clock.now() }));
    await file.sync();
  } finally {
    await file.close();
  }
  return {
    mark,
    async forget() {
      await rm(path, { force: true });
      await lock.release();
    },
    release: () => lock.release(),
  };
}

/** A request of a run that was killed may arrive later than the list of the next run; not later than this. */
const arrivesWithinMs = 600_000;

/**
 * Removes the endpoints of earlier runs that have ended, at the service and workspace of `owner`. Records of others are kept.
 * @param onRemoved called with each endpoint's URL
 */
export async function removeLeft(
  owner: Owner,
  endpoints: WebhookEndpoints,
  options: StateOptions,
  { onRemoved, onWait }: { onRemoved(url: string): void; onWait(process: string): void },
): Promise<void> {
  const { folder, clock, signal } = options;
  const names = await readdir(folder).catch(() => []);
  const records = new Set(names.flatMap((name) => /^(\w+\.json)(?:\.lock.*)?$/.exec(name)?.[1] ?? []));
  // Together: each may wait a minute.
  const locks = await Promise.all(
    [...records].map(async (name) => {
      const path = join(folder, name);
      return { path, lock: await lockFile(path, { clock, signal, onWait }) };
    }),
  );
  try {
    for (const { path, lock } of locks) {
      if (typeof lock !== "string" && (await isSettled(path))) await rm(path, { force: true });
    }
  } finally {
    for (const { lock } of locks) if (typeof lock !== "string") await lock.release();
  }

  /** Whether nothing of this run is, or can still be, on the service. */
  async function isSettled(path: string): Promise<boolean> {
    const found = await stat(path).catch(() => null);
    if (found === null || privacyOf(found) === "foreign") return false;
    const value = jsonOrUndefined(await readFile(path, "utf8"));
    // Cut short, so its run was killed before it created anything.
    if (value === undefined) return true;
    const record = toRecord(value);
    // Of another version, which may know of an endpoint.
    if (record === null) return false;
    if (record.baseUrl !== owner.baseUrl || record.workspaceId !== owner.workspaceId) return false;
    const removed = await removeMarked(record.mark, endpoints, { signal });
    for (const url of removed) onRemoved(url);
    return removed.length > 0 || clock.now() - record.recordedAtMs > arrivesWithinMs;
  }
}

/** Deletes the endpoints with this description. @returns their URLs */
export async function removeMarked(
  mark: string,
  endpoints: WebhookEndpoints,
  call: CallOptions,
): Promise<readonly string[]> {
  const all = await endpoints.list({ limit: 100 }, call).toArray();
  const marked = all.filter(({ description }) => description === mark);
  for (const { id } of marked) {
    await endpoints.delete(id, call).catch((error: unknown) => {
      // Deleted meanwhile, in the web app for example.
      if (!isWorkspaceTasksError(error, "NOT_FOUND")) throw error;
    });
  }
  return marked.map(({ url }) => url);
}

function toRecord(value: unknown): (Owner & { readonly mark: string; readonly recordedAtMs: number }) | null {
  if (!isPlainObject(value)) return null;
  const { baseUrl, workspaceId, mark, recordedAtMs } = value;
  if (typeof baseUrl !== "string" || typeof workspaceId !== "string") return null;
  // No endpoint but one of a run can have this description.
  if (typeof mark !== "string" || !/^workspace-tasks listen \w{8,}$/.test(mark)) return null;
  return { baseUrl, workspaceId, mark, recordedAtMs: Number(recordedAtMs) || 0 };
}
