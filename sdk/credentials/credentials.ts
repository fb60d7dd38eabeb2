import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import type { CallScope } from "../call/call-scope.ts";
import { type Failure, FailureError } from "../call/failure.ts";

// The short-lived token of a client's key. Its states:
//
//   missing ──exchange──► exchanging ──ok──► fresh ──82 % of its lifetime──► due ──95 %──► expired (= missing)
//                          │      ▲            ▲                              │
//                   failed │      │ pause      └───────── exchanged ◄─────────┘
//                          ▼      │ is over
//                          pausing ┘         fresh or due ──rejected──► missing
//
// At most one exchange is in flight. All calls that need a token share its result, failures included. While the pause
// after a failure lasts, calls with the same key fail with it. Calls use a token that is due without waiting, while it is
// exchanged in the background; so no call waits while traffic is steady.
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

export interface Key {
  readonly value: string;
  readonly hash: string;
}

export interface ExchangedToken {
  readonly token: string;
  readonly lifetimeMs: number;
}

export interface RefreshEvent {
  readonly reason: "first" | "due" | "expired" | "rejected";
  readonly ok: boolean;
  readonly durationMs: number;
}

export interface CredentialsOptions {
  readonly clock: Clock;
  readonly random: () => number;
  /** The key to use now. Rejects with `FailureError`. */
  readonly readKey: () => Promise<Key>;
  /** One exchange, with retries while a call waits for it. Rejects with `FailureError`. */
  readonly exchange: (key: Key, isAwaited: () => boolean) => Promise<ExchangedToken>;
  readonly onRefresh: (event: RefreshEvent) => void;
}

interface CurrentToken extends Credential {
  readonly issuedAtMs: number;
  dueAtMs: number;
  readonly expiresAtMs: number;
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
/** While calls wait for the rate limit. */
const watchMs = 5_000;

export class Credentials {
  readonly #options: CredentialsOptions;
  #current: CurrentToken | undefined;
  #exchanging: Promise<Credential> | undefined;
  #failed: { readonly keyHash: string; readonly failure: Failure; readonly untilMs: number } | undefined;
  #reason: RefreshEvent["reason"] = "first";
  /** When the whole budget of replacements is available again. */
  #budgetFullAtMs = Number.NEGATIVE_INFINITY;
  /** Calls that wait for an exchange. */
  #waiting = 0;
  #waitingInQueue = 0;
  #cancelWatch = () => {};

  constructor(options: CredentialsOptions) {
    this.#options = options;
  }

  /** The token, if it is usable now. */
  current(): Credential | undefined {
    const current = this.#current;
    if (!current) return undefined;
    const nowMs = this.#options.clock.monotonic();
    if (nowMs >= current.expiresAtMs) this.#drop("expired");
    else if (nowMs >= current.dueAtMs) void this.#refresh();
    return this.#current;
  }

  /** A usable token, waited for as long as the scope. Rejects with `FailureError`. */
  async get(scope: CallScope): Promise<Credential> {
    const current = this.current();
    if (current) return current;
    this.#waiting += 1;
    try {
      return await scope.race(this.#refresh());
    } finally {
      this.#waiting -= 1;
    }
  }

  /**
   * Whether a call whose token was rejected should be sent again.
   *
   * @param mayBePermission the key's owner may not do this, or the token is bad
   */
  reject({ token, isAccepted }: Credential, mayBePermission: boolean): boolean {
    const current = this.#current;
    if (current?.token !== token) return true;
    const nowMs = this.#options.clock.monotonic();
    if (mayBePermission && nowMs < current.issuedAtMs + trustedAgeMs) return false;
    // A service that was started again knows no earlier token. One replica may not know a token that the others accept.
    const fullAtMs = Math.max(nowMs, this.#budgetFullAtMs) + replacementPauseMs;
    if (fullAtMs - nowMs > replacementsAtOnce * replacementPauseMs) return isAccepted;
    this.#budgetFullAtMs = fullAtMs;
    this.#drop("rejected");
    return true;
  }

  /** Refreshes the token while a call waits for the rate limit, until the returned function is called. */
  keepFresh(): () => void {
    this.#waitingInQueue += 1;
    if (this.#waitingInQueue === 1) this.#watch();
    return () => {
      this.#waitingInQueue -= 1;
      if (this.#waitingInQueue === 0) this.#cancelWatch();
    };
  }

  #watch(): void {
    const refresh = () => {
      this.current();
      this.#watch();
    };
    this.#cancelWatch = this.#options.clock.schedule(watchMs, refresh, { background: true });
  }

  #drop(reason: RefreshEvent["reason"]): void {
    this.#current = undefined;
    this.#reason = reason;
  }

  /** The exchange in flight, or another. */
  #refresh(): Promise<Credential> {
    if (!this.#exchanging) {
      this.#exchanging = this.#exchange().finally(() => {
        this.#exchanging = undefined;
      });
      // Without a call that waits its failure is of no use.
      this.#exchanging.catch(() => {});
    }
    return this.#exchanging;
  }

  async #exchange(): Promise<Credential> {
    const { clock, random, readKey, exchange } = this.#options;
    try {
      const key = await readKey();
      const sentAtMs = clock.monotonic();
      const { token, lifetimeMs } = await this.#report(key, () => exchange(key, () => this.#waiting > 0));
      const issuedAtMs = clock.monotonic();
      // Counted from the request; from later when the exchange took most of the lifetime, so that the token has a use.
      const startMs = Math.max(sentAtMs, issuedAtMs - lifetimeMs / 2);
      const dueAtMs = startMs + lifetimeMs * (dueAt + dueJitter * (random() - 0.5));
      const expiresAtMs = startMs + lifetimeMs * expiredAt;
      this.#current = { token, keyHash: key.hash, isAccepted: false, issuedAtMs, dueAtMs, expiresAtMs };
      return this.#current;
    } catch (error) {
      // The current token works until it expires.
      if (this.#current) this.#current.dueAtMs = clock.monotonic() + failedPauseMs.response;
      throw error;
    }
  }

  async #report({ hash: keyHash }: Key, exchange: () => Promise<ExchangedToken>): Promise<ExchangedToken> {
    const { clock, onRefresh } = this.#options;
    const sentAtMs = clock.monotonic();
    const failed = this.#failed;
    if (failed?.keyHash === keyHash && sentAtMs < failed.untilMs) throw new FailureError(failed.failure);
    const reason = this.#current ? "due" : this.#reason;
    let ok = false;
    try {
      const exchanged = await exchange();
      ok = true;
      return exchanged;
    } catch (error) {
      if (error instanceof FailureError) {
        const untilMs = clock.monotonic() + pauseMs(error.failure, this.#waiting > 0);
        this.#failed = { keyHash, failure: error.failure, untilMs };
      }
      throw error;
    } finally {
      onRefresh({ reason, ok, durationMs: clock.monotonic() - sentAtMs });
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
