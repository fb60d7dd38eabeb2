// Receives deliveries as a receiver does, with the same checks and limits, and sends what is genuine to a local URL: the same
// bytes under the same headers. What cannot be verified is rejected here, as anyone can reach a public address.

import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import http from "node:http";
import https from "node:https";
import type { LookupFunction } from "node:net";
import { homedir, hostname, uptime } from "node:os";
import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { randomName, systemRandom } from "@workspace-tasks/kernel/random.ts";
import { isError } from "@workspace-tasks/kernel/realm.ts";
import type { WebhookRejectedError } from "@workspace-tasks/receiver-kit";
import { type ReceivedWebhook, verifyWebhook } from "@workspace-tasks/receiver-kit/express";
import {
  type CallOptions,
  isWorkspaceTasksError,
  type WebhookEndpoint,
  type WebhookEndpoints,
} from "@workspace-tasks/sdk";
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
function send({ to, headers, body, signal }: Outgoing, clock: Clock): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { request: open } = to.protocol === "https:" ? https : http;
    const options = { method: "POST", headers: headers as string[], agent: false as const, signal };
    const outgoing = open(to, isLocalhost(to) ? { ...options, lookup: lookUpLocalhost } : options);
    const cancel = clock.schedule(forwardTimeoutMs, () =>
      outgoing.destroy(new Error(`no response within ${forwardTimeoutMs / 1_000} s`)),
    );
    const settle = (outcome: () => void) => {
      cancel();
      outcome();
    };
    outgoing.on("error", (error) => settle(() => reject(error)));
    outgoing.on("response", (incoming) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      const end = () =>
        settle(() => {
          const { statusCode: status = 502 } = incoming;
          const text = Buffer.concat(chunks).subarray(0, responseBytesMax);
          resolve({ status, headers: answerHeaders(incoming), body: text });
        });
      incoming.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes < responseBytesMax) return;
        end();
        incoming.destroy();
      });
      incoming.on("end", end);
      // The status is known, and it is what counts.
      incoming.on("error", end).on("close", end);
    });
    outgoing.end(body);
  });
}

/** Names below it too are this machine (RFC 6761), also where the resolver does not know them. */
const isLocalhost = ({ hostname }: URL) => /^(?:.+\.)?localhost$/.test(hostname);

/** A receiver listens on one of the two, whichever the resolver prefers. */
const lookUpLocalhost: LookupFunction = (_host, { all }, done) => {
  const addresses = [
    { address: "127.0.0.1", family: 4 },
    { address: "::1", family: 6 },
  ];
  if (all) done(null, addresses);
  else done(null, "127.0.0.1", 4);
};

function answerHeaders({ headers }: IncomingMessage): Readonly<Record<string, string>> {
  const kept = ["content-type", "retry-after"].flatMap((name) => {
    const value = headers[name];
    return typeof value === "string" ? [[name, value] as const] : [];
  });
  return Object.fromEntries(kept);
}

// An endpoint that leads to this machine must not outlive the command. Its description says which process of which machine has
// created it. So a run finds the endpoints of earlier ones on its machine that were killed, and removes them and no others.

const markPattern = /^workspace-tasks listen (\w{16}) (\d+) \w{8,}$/;

/** The description of the endpoint of this run, which no other one has. */
export const newMark = (): string =>
  `workspace-tasks listen ${machineName()} ${process.pid} ${randomName(systemRandom)}`;

/** Tells this machine and user from others, without their names. */
const machineName = () =>
  createHash("sha256").update(`${hostname()}\n${homedir()}`).digest("hex").slice(0, 16);

/** Whether a run of this machine has created the endpoint that has ended without removing it. */
export function isLeft({ description, createdAt }: WebhookEndpoint, clock: Clock): boolean {
  const [, machine, pid] = markPattern.exec(description) ?? [];
  if (machine !== machineName()) return false;
  // Process ids are given again: after a start of the system, and in a container to the same program.
  const startedMs = clock.now() - uptime() * 1_000;
  return Date.parse(createdAt) < startedMs || Number(pid) === process.pid || !isRunning(Number(pid));
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return isError(error) && "code" in error && error.code === "EPERM";
  }
}

/** Deletes an endpoint, which may be deleted already, in the web app for example. */
export async function removeEndpoint(
  id: string,
  endpoints: WebhookEndpoints,
  call: CallOptions,
): Promise<void> {
  await endpoints.delete(id, call).catch((error: unknown) => {
    if (!isWorkspaceTasksError(error, "NOT_FOUND")) throw error;
  });
}
