import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import type { Random } from "@workspace-tasks/kernel/random.ts";
import { type Failure, FailureError } from "../call/failure.ts";
import type { SharedWork } from "../call/shared-work.ts";

// The short-lived token of one key, shared by all clients of the process that use the key at one address. Its states:
//
//   missing ──exchange──► exchanging ──ok──► fresh ──82 % of its lifetime──► due ──95 %──► expired (= missing)
//                          │      ▲            ▲                              │
//                   failed │      │ pause      └───────── exchanged ◄─────────┘
//                          ▼      │ is over
//                          pausing ┘         fresh or due ──rejected──► missing
//
// At most one exchange is in flight, and all calls of all clients that need a token share its result, failures included.
// While the pause after a failure lasts, calls fail with it.
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

interface CurrentToken extends Credential {
  readonly issuedAtMs: number;
  dueAtMs: number;
  readonly expiresAtMs: number;
}

/** How one client exchanges the key. */
export interface TokenExchange {
  readonly keyHash: string;
  readonly random: Random;
  /** What waits for the exchange. */
  readonly work: SharedWork<Credential>;
  /** Rejects with `FailureError`. */
  run(reason: RefreshReason): Promise<ExchangedToken>;
}

const dueAt = 0.82;
const dueJitter = 0.02;
const expiredAt = 0.95;
/** Rejected tokens are replaced from a budget: so many at once, and one more after each pause. */
const replacementsAtOnce = 5;
const replacementPauseMs = 5_000;
/** "Unauthorized" without a code is a missing permission when the token is younger. */
const trustedAgeMs = 30_000;
const failedPauseMs = { keyRejected: 10_000, response: 5_000, noResponse: 1_000, max: 60_000 };

export class SharedToken {
  readonly #clock: Clock;
  #current: CurrentToken | undefined;
  #exchanging: SharedWork<Credential> | undefined;
  #failed: { readonly failure: Failure; readonly untilMs: number } | undefined;
  #reason: RefreshReason = "first";
  /** When the whole budget of replacements is available again. */
  #budgetFullAtMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The token, if it is usable now. */
  current(): Credential | undefined {
    if (this.#current && this.#clock.monotonic() >= this.#current.expiresAtMs) this.#drop("expired");
    return this.#current;
  }

  /** Whether the token is missing or should be exchanged. */
  isDue(): boolean {
    return this.#clock.monotonic() >= (this.#current?.dueAtMs ?? 0);
  }

  /** Nothing is known that the next client could use. */
  isIdle(): boolean {
    return !this.#exchanging && !this.current() && this.#clock.monotonic() >= (this.#failed?.untilMs ?? 0);
  }

  /** Exchanges the key if the token is due, or joins the exchange in flight. Rejects with `FailureError`. */
  async refresh(exchange: TokenExchange): Promise<Credential> {
    const { work } = exchange;
    for (;;) {
      const current = this.isDue() ? undefined : this.current();
      if (current) return current;
      const other = this.#exchanging;
      if (!other || other.scope.failure) return this.#exchange(exchange);
      try {
        return await other.join(work.scope, work);
      } catch (error) {
        // Otherwise the client that started it was closed, or its calls did not wait for it.
        if (work.scope.failure || !other.scope.failure) throw error;
      }
    }
  }

  /** The current token works until it expires; the next refresh is tried after a pause. */
  postpone(): void {
    if (this.#current) this.#current.dueAtMs = this.#clock.monotonic() + failedPauseMs.response;
  }

  /**
   * Whether a call whose token was rejected should be sent again.
   *
   * @param mayBePermission the key's owner may not do this, or the token is bad
   */
  reject({ token, isAccepted }: Credential, mayBePermission: boolean): boolean {
    const current = this.#current;
    if (current?.token !== token) return true;
    const nowMs = this.#clock.monotonic();
    if (mayBePermission && nowMs < current.issuedAtMs + trustedAgeMs) return false;
    // A service that was started again knows no earlier token. One replica may not know a token that the others accept.
    const fullAtMs = Math.max(nowMs, this.#budgetFullAtMs) + replacementPauseMs;
    if (fullAtMs - nowMs > replacementsAtOnce * replacementPauseMs) return isAccepted;
    this.#budgetFullAtMs = fullAtMs;
    this.#drop("rejected");
    return true;
  }

  #drop(reason: RefreshReason): void {
    this.#current = undefined;
    this.#reason = reason;
  }

  async #exchange({ work, keyHash, random, run }: TokenExchange): Promise<Credential> {
    const sentAtMs = this.#clock.monotonic();
    if (this.#failed && sentAtMs < this.#failed.untilMs) throw new FailureError(this.#failed.failure);
    this.#exchanging = work;
    try {
      const { token, lifetimeMs } = await run(this.#current ? "due" : this.#reason);
      const issuedAtMs = this.#clock.monotonic();
      // Counted from the request; from later when the exchange took most of the lifetime, so that the token has a use.
      const startMs = Math.max(sentAtMs, issuedAtMs - lifetimeMs / 2);
      const dueAtMs = startMs + lifetimeMs * (dueAt + dueJitter * (random() - 0.5));
      const expiresAtMs = startMs + lifetimeMs * expiredAt;
      this.#current = { token, keyHash, isAccepted: false, issuedAtMs, dueAtMs, expiresAtMs };
      return this.#current;
    } catch (error) {
      if (error instanceof FailureError && !work.scope.failure) {
        const untilMs = this.#clock.monotonic() + pauseMs(error.failure, work.isAwaited);
        this.#failed = { failure: error.failure, untilMs };
      }
      throw error;
    } finally {
      if (this.#exchanging === work) this.#exchanging = undefined;
    }
  }
}

/** A refresh that no call waited for was sent once, without retries: the next call may try. */
function pauseMs({ code, httpStatus, retryAfterMs = 0 }: Failure, isAwaited: boolean): number {
  if (code === "API_KEY_REJECTED") return failedPauseMs.keyRejected;
  if (!isAwaited) return 0;
  if (httpStatus === undefined) return failedPauseMs.noResponse;
  return Math.min(Math.max(failedPauseMs.response, retryAfterMs), failedPauseMs.max);
}
