/*
 * One request, sent until it has a response of the service:
 *
 *   waits for its turn → sent → response of the service                           done
 *                             → 429                                               waits as long as it says, again;
 *                                                                                 a wait of minutes ends the run
 *                             → no response, or a 5xx that is not GraphQL         waits, again, three times at most
 */

import { ByteBuffer } from "@workspace-tasks/kernel/bytes.ts";
import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import type { VirtualClock } from "@workspace-tasks/mock-server";
import { connectionCodeOf } from "../../connection-errors.ts";
import type { RawResponse } from "../observe/observe-response.ts";
import type { CreatedEndpoints } from "./created-endpoints.ts";
import { mayChangeSomething } from "./guard.ts";
import type { Pacer } from "./pacer.ts";
import { sleep } from "./sleep.ts";

export interface WireRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export interface SenderOptions {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly clock: Clock | VirtualClock;
  readonly pacer: Pacer;
  /** Without it every request that could change something is rejected before it is sent. */
  readonly writes: boolean;
  readonly signal: AbortSignal;
  /** A 429 is a result, and is not waited for. */
  readonly expectsRateLimit?: boolean | undefined;
  readonly onWait?: ((ms: number, reason: string) => void) | undefined;
  /** Learns what the requests create and delete. */
  readonly created?: CreatedEndpoints | undefined;
  /** Counts together with another sender. Default: numbers of its own. */
  readonly stats?: SenderStats | undefined;
}

export interface SenderStats {
  requests: number;
  rateLimited: number;
  /** Requests without a response of the service. */
  lost: number;
}

export interface Sender {
  readonly stats: SenderStats;
  send(request: WireRequest): Promise<SentResponse>;
}

export interface SentResponse extends RawResponse {
  /** The response to an earlier attempt was lost, so a mutation may have taken effect twice. */
  readonly repeated: boolean;
}

/** A GraphQL request. @param bearer the access token; `null`: none */
export const graphqlRequest = (url: string, body: object, bearer: string | null = null): WireRequest => ({
  url: `${url}/graphql`,
  method: "POST",
  headers: {
    "content-type": "application/json",
    accept: "application/json",
    ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
  },
  body: JSON.stringify(body),
});

/** Why a request has no response. */
export class SendError extends Error {
  readonly kind:
    | "stopped"
    | "timeout"
    | "network"
    | "unavailable"
    | "rate-limited"
    | "too-large"
    | "rejected"
    | "no-token";
  /** Code of the system, such as ECONNREFUSED. */
  readonly code: string | null;

  constructor(kind: SendError["kind"], message: string, code: string | null = null) {
    super(message);
    this.name = "SendError";
    this.kind = kind;
    this.code = code;
  }
}

/** Codes of the system that speak for a wrong address. */
export const addressCodes: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EPROTO",
  "ERR_SSL_WRONG_VERSION_NUMBER",
  "ERR_TLS_CERT_ALTNAME_INVALID",
]);

const attemptsMax = 3;
const rateLimitedMax = 3;
const backoffMs = 1_500;
const timeoutMs = 15_000;
/** A run that would have to wait longer ends. */
export const waitMsMax = 300_000;
const bodyBytesMax = 8 * 1_048_576;

export function createSender(options: SenderOptions): Sender {
  const { clock, pacer, signal, writes, onWait, stats = { requests: 0, rateLimited: 0, lost: 0 } } = options;
  let hasResponded = false;

  const waitForTurn = async () => {
    for (let waitMs = pacer.waitMs(); waitMs > 0 && !signal.aborted; waitMs = pacer.waitMs()) {
      if (waitMs > waitMsMax)
        throw new SendError(
          "rate-limited",
          `the service wants a wait of ${Math.ceil(waitMs / 1_000)} s before the next request`,
        );
      onWait?.(waitMs, "to stay inside the rate limit");
      await sleep(clock, waitMs, signal);
    }
    if (signal.aborted) throw new SendError("stopped", "the run was stopped");
  };

  const sendOnce = async (request: WireRequest): Promise<RawResponse> => {
    await waitForTurn();
    stats.requests += 1;
    pacer.count();
    const settle = options.created?.sending(request.body);
    try {
      const response = await roundTrip(request, options);
      hasResponded = true;
      if (isGraphql(response) || response.status === 429) settle?.(response);
      return response;
    } catch (error) {
      if (error instanceof SendError && addressCodes.has(error.code ?? "")) settle?.(null);
      throw error;
    }
  };

  const send = async (request: WireRequest): Promise<SentResponse> => {
    if (!writes && mayChangeSomething(request)) throw new Error("a read-only run must not send a mutation");
    let limited = 0;
    for (let attempt = 1; ; ) {
      let failure: SendError;
      try {
        const response = await sendOnce(request);
        if (response.status === 429 && options.expectsRateLimit)
          return { ...response, repeated: attempt > 1 };
        if (response.status === 429) {
          stats.rateLimited += 1;
          limited += 1;
          if (limited > rateLimitedMax)
            throw new SendError("rate-limited", `the service responded 429 to ${limited} attempts in a row`);
          pacer.pause(retryAfterMs(response.headers, clock.now()));
          continue;
        }
        if (response.status < 500 || isGraphql(response)) return { ...response, repeated: attempt > 1 };
        failure = new SendError(
          "unavailable",
          `the service responded ${response.status} without a GraphQL body`,
        );
      } catch (error) {
        if (!(error instanceof SendError) || (error.kind !== "network" && error.kind !== "timeout"))
          throw error;
        failure = error;
      }
      stats.lost += 1;
      // Before the first response these are mistakes in the address; later they may be a restart of the service.
      if (!hasResponded && addressCodes.has(failure.code ?? "")) throw failure;
      if (attempt >= attemptsMax) throw failure;
      await sleep(clock, backoffMs * attempt, signal);
      attempt += 1;
    }
  };
  return { stats, send };
}

const isGraphql = ({ json }: RawResponse) => isPlainObject(json) && ("data" in json || "errors" in json);

/** Seconds or a date; a whole window when it says neither. */
function retryAfterMs(headers: Headers, nowMs: number): number {
  const text = headers.get("retry-after") ?? "";
  if (/^\d{1,9}$/.test(text)) return Math.max(1, Number(text)) * 1_000;
  const untilMs = Date.parse(text);
  return Number.isNaN(untilMs) ? 60_000 : Math.max(1_000, untilMs - nowMs);
}

async function roundTrip(
  request: WireRequest,
  { fetch, clock, signal }: SenderOptions,
): Promise<RawResponse> {
  const { url, method, headers, body } = request;
  const deadline = new AbortController();
  const stop = () => deadline.abort();
  // The end of what changes something is awaited: the service would carry it out unseen.
  if (!mayChangeSomething(request)) signal.addEventListener("abort", stop);
  const cancel = clock.schedule(timeoutMs, stop);
  try {
    const response = await fetch(url, { method, headers, body, redirect: "manual", signal: deadline.signal });
    const text = await readText(response);
    return { status: response.status, headers: response.headers, text, json: jsonOrUndefined(text) };
  } catch (error) {
    if (signal.aborted) throw new SendError("stopped", "the run was stopped");
    if (error instanceof SendError) throw error;
    if (deadline.signal.aborted) throw new SendError("timeout", `no response within ${timeoutMs} ms`);
    const code = connectionCodeOf(error);
    throw new SendError("network", `the connection failed${code === null ? "" : ` (${code})`}`, code);
  } finally {
    cancel();
    signal.removeEventListener("abort", stop);
  }
}

/** A body without an end must not fill the memory. */
async function readText({ body }: Response): Promise<string> {
  const received = new ByteBuffer();
  for await (const chunk of body ?? []) {
    received.append(chunk);
    if (received.length > bodyBytesMax)
      throw new SendError("too-large", `the response has more than ${bodyBytesMax} bytes`);
  }
  return new TextDecoder().decode(received.toBytes());
}
