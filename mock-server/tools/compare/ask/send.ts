/*
 * A request is sent inside a third of the rate limit, until it has a response of the service:
 *
 *   waits for its turn → sent → response of the service                           done
 *                             → 429                                               waits as long as it says, again;
 *                                                                                 a wait of minutes ends the run
 *                             → no response, or a 5xx that is not GraphQL         waits, again, three times at most
 */

import { readBytes } from "@workspace-tasks/kernel/bytes.ts";
import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import type { Settings, VirtualClock } from "@workspace-tasks/mock-server";
import { connectionCodeOf } from "../../connection-errors.ts";

export interface SenderOptions {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly clock: Clock | VirtualClock;
  readonly rateLimit: Pick<Settings["rateLimit"], "requests" | "windowMs">;
  readonly signal: AbortSignal;
  readonly onWait?: ((ms: number, reason: string) => void) | undefined;
}

export interface Received {
  readonly status: number;
  readonly headers: Headers;
  /** `undefined` for a body that is not JSON. */
  readonly json: unknown;
  readonly body: "graphql" | "json" | "html" | "text" | "empty";
}

export interface Stats {
  requests: number;
  rateLimited: number;
  /** Requests without a response of the service. */
  lost: number;
}

/** Why a service does not show a fact. */
export class Untestable extends Error {}

/** Why a request has no response. */
export class SendError extends Error {
  /** `away`: no response of the service, which may be back later. `limited`: it wants a wait of minutes. */
  readonly kind: "stopped" | "away" | "limited" | "too-large" | "rejected" | "no-token";
  /** Code of the system, such as ECONNREFUSED. */
  readonly code: string | null;
  /** Nothing has arrived at the service, with certainty. */
  isUnsent = false;

  constructor(kind: SendError["kind"], message: string, code: string | null = null) {
    super(message);
    this.name = "SendError";
    this.kind = kind;
    this.code = code;
  }
}

/** Codes of the system that speak for a wrong address: the request has not arrived. */
const addressCodes: ReadonlySet<string> = new Set([
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
const waitMsMax = 300_000;
const bodyBytesMax = 8 * 1_048_576;

export class Sender {
  readonly stats: Stats = { requests: 0, rateLimited: 0, lost: 0 };
  readonly #options: SenderOptions;
  readonly #sentTicks: number[] = [];
  #pausedUntilTicks = 0;
  #hasResponded = false;
  #signal: AbortSignal;
  #isPaced = true;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#signal = options.signal;
  }

  /**
   * @param request is asked at each attempt: a token may expire while a request waits
   * @param changes its end is awaited, also when the run is stopped
   */
  async send(url: string, request: () => Promise<RequestInit>, changes: boolean) {
    const { stats } = this;
    let mayHaveArrived = false;
    for (let attempt = 1, limited = 0; ; ) {
      let failure: SendError;
      let isSent = false;
      try {
        await this.#waitForTurn();
        const init = await request();
        await this.#waitForTurn();
        isSent = true;
        stats.requests += 1;
        this.#sentTicks.push(this.#options.clock.monotonic());
        const received = await this.#roundTrip(url, init, changes);
        this.#hasResponded = true;
        if (received.status === 429) {
          stats.rateLimited += 1;
          limited += 1;
          if (limited > rateLimitedMax)
            throw new SendError("limited", `the service responded 429 to ${limited} attempts in a row`);
          this.#pausedUntilTicks =
            this.#options.clock.monotonic() + retryAfterMs(received.headers, this.#options.clock.now());
          continue;
        }
        if (received.status < 500 || received.body === "graphql")
          return { received, isRepeated: attempt > 1 };
        failure = new SendError("away", `the service responded ${received.status} without a GraphQL body`);
      } catch (error) {
        if (!(error instanceof SendError)) throw error;
        failure = error;
      }
      const isOfAddress = addressCodes.has(failure.code ?? "");
      mayHaveArrived ||= isSent && ["away", "too-large"].includes(failure.kind) && !isOfAddress;
      failure.isUnsent = !mayHaveArrived;
      if (failure.kind !== "away" || !isSent) throw failure;
      stats.lost += 1;
      // Before the first response these are mistakes in the address; later they may be a restart of the service.
      if ((isOfAddress && !this.#hasResponded) || attempt === attemptsMax) throw failure;
      await this.wait(backoffMs * attempt);
      attempt += 1;
    }
  }

  async #waitForTurn(): Promise<void> {
    for (let waitMs = this.#waitMs(); waitMs > 0 && !this.#signal.aborted; waitMs = this.#waitMs()) {
      const seconds = Math.ceil(waitMs / 1_000);
      if (waitMs > waitMsMax)
        throw new SendError("limited", `the service wants a wait of ${seconds} s before the next request`);
      await this.wait(waitMs, "to stay inside the rate limit");
    }
    if (this.#signal.aborted) throw stopped();
  }

  /** A third of the limit: other users of the key need the rest. */
  #waitMs(): number {
    const { requests, windowMs } = this.#options.rateLimit;
    const share = Math.max(1, Math.floor(requests / 3));
    const nowTicks = this.#options.clock.monotonic();
    while (this.#sentTicks[0] !== undefined && this.#sentTicks[0] <= nowTicks - windowMs)
      this.#sentTicks.shift();
    const [oldest] = this.#sentTicks;
    const isFull = this.#isPaced && oldest !== undefined && this.#sentTicks.length >= share;
    return Math.max(isFull ? oldest + windowMs - nowTicks + 1 : 0, this.#pausedUntilTicks - nowTicks);
  }

  async #roundTrip(url: string, init: RequestInit, changes: boolean): Promise<Received> {
    const deadline = new AbortController();
    const signal = this.#signal;
    const stop = () => deadline.abort();
    // The end of what changes something is awaited: the service would carry it out unseen.
    if (!changes) signal.addEventListener("abort", stop);
    const cancel = this.#options.clock.schedule(timeoutMs, stop);
    try {
      const sent = { ...init, redirect: "manual", signal: deadline.signal } as const;
      const response = await this.#options.fetch(url, sent);
      const text = await readText(response);
      const json = jsonOrUndefined(text);
      return { status: response.status, headers: response.headers, json, body: kindOfBody(text, json) };
    } catch (error) {
      if (signal.aborted && !changes) throw stopped();
      if (error instanceof SendError) throw error;
      if (deadline.signal.aborted) throw new SendError("away", `no response within ${timeoutMs} ms`);
      const code = connectionCodeOf(error);
      throw new SendError("away", `the connection failed${code === null ? "" : ` (${code})`}`, code);
    } finally {
      cancel();
      signal.removeEventListener("abort", stop);
    }
  }

  /** Resolves after this time, or when the run is stopped. A virtual clock is advanced. */
  wait(ms: number, reason?: string): Promise<void> {
    const { clock } = this.#options;
    const signal = this.#signal;
    if (reason !== undefined) this.#options.onWait?.(ms, reason);
    if (signal.aborted || ms <= 0) return Promise.resolve();
    if ("advance" in clock) return clock.advance(Math.ceil(ms)).then(() => undefined);
    return new Promise((resolve) => {
      const finish = () => {
        cancel();
        signal.removeEventListener("abort", finish);
        resolve();
      };
      const cancel = clock.schedule(ms, finish);
      signal.addEventListener("abort", finish);
    });
  }

  /** Requests from here on are a few above the run's share, and only this signal ends them. */
  clean(signal: AbortSignal): void {
    this.#signal = signal;
    this.#isPaced = false;
  }
}

const stopped = () => new SendError("stopped", "the run was stopped");

function kindOfBody(text: string, json: unknown): Received["body"] {
  if (isPlainObject(json) && ("data" in json || Array.isArray(json["errors"]))) return "graphql";
  if (text.trim() === "") return "empty";
  if (json !== undefined) return "json";
  return /^\s*<(!doctype|html|\?xml|head|body)/i.test(text) ? "html" : "text";
}

/** Seconds or a date; a whole window when it says neither. */
function retryAfterMs(headers: Headers, nowMs: number): number {
  const text = headers.get("retry-after") ?? "";
  if (/^\d{1,9}$/.test(text)) return Math.max(1, Number(text)) * 1_000;
  const untilMs = Date.parse(text);
  return Number.isNaN(untilMs) ? 60_000 : Math.max(1_000, untilMs - nowMs);
}

/** A body without an end must not fill the memory. */
async function readText({ body }: Response): Promise<string> {
  const bytes = await readBytes(body, bodyBytesMax);
  if (bytes) return new TextDecoder().decode(bytes);
  throw new SendError("too-large", `the response has more than ${bodyBytesMax} bytes`);
}
