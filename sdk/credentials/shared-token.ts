import type { CallScope } from "../call/call-scope.ts";
import { type Failure, FailureError } from "../call/failure.ts";
import { SharedWork } from "../call/shared-work.ts";
import type { Clock, Random } from "../clock.ts";

// The short-lived token of one key, shared by all clients of the process that use the key at one address. Its states:
//
//   missing ──exchange──► exchanging ──ok──► fresh ──82 % of its lifetime──► due ──95 %──► expired (= missing)
//                          │      ▲            ▲                              │
//                   failed │      │ pause      └───────── exchanged ◄─────────┘
//                          ▼      │ is over
//                          pausing ┘         fresh or due ──replace──► missing
//
// At most one exchange is in flight, and all calls of all clients that need a token share it and its failure. While the
// pause after a failure lasts, calls fail with it. A failure without a response can be that client's alone (its `fetch`,
// its `timeoutMs`): a client that joined tries once itself, and the pause is for the client that failed.
//
// The limits are fractions of the lifetime: with tokens of 3 minutes a fixed margin of minutes would cause an exchange
// per call.

export interface Credential {
  readonly token: string;
  /** Hash of the key that the token was issued for; identifies the rate limit it counts against. */
  readonly keyHash: string;
  /** The service accepted a request with this token. */
  isAccepted: boolean;
}

export interface ExchangedToken {
  readonly token: string;
  readonly lifetimeMs: number;
}

export type RefreshReason = "first" | "due" | "expired" | "rejected";

/** The token is certainly bad, or the key's owner may not do this. */
export type Rejection = "token" | "token_or_permission";

interface CurrentToken extends Credential {
  readonly issuedAtMs: number;
  dueAtMs: number;
  readonly expiresAtMs: number;
}

/** How one client exchanges the key. */
export interface TokenExchange {
  readonly keyHash: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly clientScope: CallScope;
  /** Rejects with `FailureError`. */
  run(reason: RefreshReason, work: SharedWork<Credential>): Promise<ExchangedToken>;
}

interface FailedExchange {
  readonly failure: Failure;
  readonly clientScope: CallScope;
  readonly untilMs: number;
}

const dueAt = 0.82;
const dueJitter = 0.02;
const expiredAt = 0.95;
/** A rejected token is not replaced again before. */
const replacePauseMs = 5_000;
/** "Unauthorized" without a code is a missing permission when the token is younger. */
const trustedAgeMs = 30_000;
const failedPauseMs = { keyRejected: 10_000, response: 5_000, noResponse: 1_000, max: 60_000 };

export class SharedToken {
  #current: CurrentToken | undefined;
  #exchanging: SharedWork<Credential> | undefined;
  #failed: FailedExchange | undefined;
  #reason: RefreshReason = "first";
  #replacedAtMs = Number.NEGATIVE_INFINITY;

  /** The token, if it is usable now. */
  current(nowMs: number): Credential | undefined {
    if (this.#current && nowMs >= this.#current.expiresAtMs) this.#drop("expired");
    return this.#current;
  }

  /** Whether the token is missing or should be exchanged. */
  isDue(nowMs: number): boolean {
    return nowMs >= (this.#current?.dueAtMs ?? 0);
  }

  /** Exchanges the key, or joins the exchange in flight. Rejects with `FailureError`. */
  async exchange(client: TokenExchange, waiter: SharedWork<Credential>): Promise<Credential> {
    const { scope } = waiter;
    let hasFailed = false;
    for (;;) {
      const joined = this.#exchanging;
      const exchanging = joined ?? this.#start(client);
      try {
        return await exchanging.join(scope, waiter);
      } catch (error) {
        if (!joined || scope.failure || !(error instanceof FailureError)) throw error;
        // The client that started it was closed, or its calls did not wait for it.
        if (exchanging.scope.failure) continue;
        if (hasFailed || hasResponse(error.failure)) throw error;
        hasFailed = true;
      }
    }
  }

  /** Whether a call whose token was rejected should be sent again. */
  replace(rejected: Credential, rejection: Rejection, nowMs: number): boolean {
    const current = this.#current;
    if (current?.token !== rejected.token) return true;
    if (rejection === "token_or_permission") {
      if (nowMs - current.issuedAtMs < trustedAgeMs) return false;
    } else if (this.replaceableInMs(nowMs) > 0) {
      // One replica of the service may not know a token that the others accept.
      return current.isAccepted;
    }
    this.#replacedAtMs = nowMs;
    this.#drop("rejected");
    return true;
  }

  /** The time until a token that the service rejects is replaced. */
  replaceableInMs(nowMs: number): number {
    return Math.max(0, this.#replacedAtMs + replacePauseMs - nowMs);
  }

  #drop(reason: RefreshReason): void {
    this.#current = undefined;
    this.#reason = reason;
  }

  #start(client: TokenExchange): SharedWork<Credential> {
    const { clock, clientScope: parent } = client;
    const failed = this.#failed;
    const concerns = failed && (hasResponse(failed.failure) || failed.clientScope === parent);
    if (concerns && clock.monotonic() < failed.untilMs) throw new FailureError(failed.failure);
    this.#exchanging = new SharedWork({
      ...{ parent, clock, unawaitedMs: 0 },
      run: (work) => this.#run(client, work),
      onSettled: () => {
        this.#exchanging = undefined;
      },
    });
    return this.#exchanging;
  }

  async #run(client: TokenExchange, work: SharedWork<Credential>): Promise<Credential> {
    const { run, keyHash, clock, random, clientScope } = client;
    const sentAtMs = clock.monotonic();
    try {
      const { token, lifetimeMs } = await run(this.#current ? "due" : this.#reason, work);
      const issuedAtMs = clock.monotonic();
      // Counted from the request; from later when the exchange took most of the lifetime, so that the token has a use.
      const startMs = Math.max(sentAtMs, issuedAtMs - lifetimeMs / 2);
      const dueAtMs = startMs + lifetimeMs * (dueAt + dueJitter * (random() - 0.5));
      const expiresAtMs = startMs + lifetimeMs * expiredAt;
      this.#current = { token, keyHash, isAccepted: false, issuedAtMs, dueAtMs, expiresAtMs };
      return this.#current;
    } catch (error) {
      const nowMs = clock.monotonic();
      if (this.#current) this.#current.dueAtMs = nowMs + failedPauseMs.response;
      if (error instanceof FailureError && !work.scope.failure) {
        const untilMs = nowMs + pauseMs(error.failure, work.isAwaited);
        this.#failed = { failure: error.failure, clientScope, untilMs };
      }
      throw error;
    }
  }
}

function hasResponse({ httpStatus }: Failure): boolean {
  return httpStatus !== undefined;
}

/** A refresh that no call waited for was sent once, without retries: the next call may try. */
function pauseMs(failure: Failure, isAwaited: boolean): number {
  if (failure.code === "API_KEY_REJECTED") return failedPauseMs.keyRejected;
  if (!isAwaited) return 0;
  if (!hasResponse(failure)) return failedPauseMs.noResponse;
  return Math.min(Math.max(failedPauseMs.response, failure.retryAfterMs ?? 0), failedPauseMs.max);
}
