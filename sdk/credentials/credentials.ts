import type { CallScope } from "../call/call-scope.ts";
import { type Failure, FailureError } from "../call/failure.ts";
import {
  type ExchangedToken,
  exchangeKey,
  type Key,
  type KeyExchangeOptions,
  readKey,
} from "./key-exchange.ts";
import { SharedWork } from "./shared-work.ts";

// The short-lived token of one client's key. The key may come from a function, which is called for each exchange. The
// token's states:
//
//   missing ──exchange──► exchanging ──ok──► fresh ──82 % of its lifetime──► due ──95 %──► expired (= missing)
//                          │      ▲            ▲                              │
//                   failed │      │ pause      └───────── exchanged ◄─────────┘
//                          ▼      │ is over
//                          pausing ┘         fresh or due ──rejected──► missing
//
// At most one exchange is in flight, and all calls that need a token share its result, failures included. While the pause
// after a failure lasts, calls fail with it. Calls use a token that is due without waiting, while it is exchanged in the
// background; so no call waits while traffic is steady.
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

export interface CredentialsOptions extends KeyExchangeOptions {
  readonly clientScope: CallScope;
  readonly onRefresh: (event: RefreshEvent) => void;
}

export interface RefreshEvent {
  readonly reason: "first" | "due" | "expired" | "rejected";
  readonly ok: boolean;
  readonly durationMs: number;
}

interface CurrentToken extends Credential {
  readonly issuedAtMs: number;
  dueAtMs: number;
  readonly expiresAtMs: number;
}

const dueAt = 0.82;
const dueJitter = 0.02;
const expiredAt = 0.95;
/** A rejected token is not replaced again before. */
const replacePauseMs = 5_000;
/** "Unauthorized" without a code is a missing permission when the token is younger. */
const trustedAgeMs = 30_000;
/** While calls wait for the rate limit. */
const watchMs = 5_000;
const failedPauseMs = { keyRejected: 10_000, response: 5_000, noResponse: 1_000, max: 60_000 };

export class Credentials {
  readonly #options: CredentialsOptions;
  #current: CurrentToken | undefined;
  #exchanging: SharedWork<Credential> | undefined;
  #failed: { readonly failure: Failure; readonly keyHash: string; readonly untilMs: number } | undefined;
  #reason: RefreshEvent["reason"] = "first";
  #replacedAtMs = Number.NEGATIVE_INFINITY;
  #waitingInQueue = 0;
  #cancelWatch = () => {};

  constructor(options: CredentialsOptions) {
    this.#options = options;
    // Before the first exchange: an error of an upload's stream can come first.
    if (typeof options.source === "string") options.redactor.remember(options.source);
  }

  /** The token, if it is usable now. */
  current(): Credential | undefined {
    const nowMs = this.#nowMs();
    if (this.#current && nowMs >= this.#current.expiresAtMs) this.#drop("expired");
    if (this.#current && nowMs >= this.#current.dueAtMs) this.#exchanging ??= this.#startExchange();
    return this.#current;
  }

  /** A usable token, waited for as long as the scope. Rejects with `FailureError`. */
  async get(scope: CallScope): Promise<Credential> {
    for (;;) {
      const ended = scope.failure ?? this.#options.clientScope.failure;
      if (ended) throw new FailureError(ended);
      const current = this.current();
      if (current) return current;
      this.#exchanging ??= this.#startExchange();
      const exchanging = this.#exchanging;
      try {
        return await exchanging.join(scope);
      } catch (error) {
        // Otherwise it ended because the calls before this one did not wait for it.
        if (!exchanging.scope.failure) throw error;
      }
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
    const nowMs = this.#nowMs();
    if (mayBePermission && nowMs < current.issuedAtMs + trustedAgeMs) return false;
    // One replica of the service may not know a token that the others accept.
    if (nowMs < this.#replacedAtMs + replacePauseMs) return isAccepted;
    this.#replacedAtMs = nowMs;
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

  #nowMs(): number {
    return this.#options.clock.monotonic();
  }

  #drop(reason: RefreshEvent["reason"]): void {
    this.#current = undefined;
    this.#reason = reason;
  }

  #startExchange(): SharedWork<Credential> {
    const { clientScope: parent, clock } = this.#options;
    return new SharedWork({
      ...{ parent, clock },
      run: (work) => this.#exchange(work),
      onSettled: () => {
        this.#exchanging = undefined;
      },
    });
  }

  async #exchange(work: SharedWork<Credential>): Promise<Credential> {
    try {
      const key = await readKey(this.#options, work.scope);
      const sentAtMs = this.#nowMs();
      const failed = this.#failed;
      if (failed?.keyHash === key.hash && sentAtMs < failed.untilMs) throw new FailureError(failed.failure);
      const exchanged = await this.#send(key, sentAtMs, work);
      this.#current = this.#tokenOf(exchanged, key.hash, sentAtMs);
      return this.#current;
    } catch (error) {
      // The current token works until it expires; the next exchange is tried after a pause.
      if (this.#current) this.#current.dueAtMs = this.#nowMs() + failedPauseMs.response;
      throw error;
    }
  }

  async #send(key: Key, sentAtMs: number, work: SharedWork<Credential>): Promise<ExchangedToken> {
    const reason = this.#current ? "due" : this.#reason;
    const report = (ok: boolean) =>
      this.#options.onRefresh({ reason, ok, durationMs: this.#nowMs() - sentAtMs });
    try {
      const exchanged = await exchangeKey(this.#options, key, work);
      report(true);
      return exchanged;
    } catch (error) {
      report(false);
      if (error instanceof FailureError && !work.scope.failure) {
        const untilMs = this.#nowMs() + pauseMs(error.failure, work.isAwaited);
        this.#failed = { failure: error.failure, keyHash: key.hash, untilMs };
      }
      throw error;
    }
  }

  #tokenOf({ token, lifetimeMs }: ExchangedToken, keyHash: string, sentAtMs: number): CurrentToken {
    const issuedAtMs = this.#nowMs();
    // Counted from the request; from later when the exchange took most of the lifetime, so that the token has a use.
    const startMs = Math.max(sentAtMs, issuedAtMs - lifetimeMs / 2);
    const dueAtMs = startMs + lifetimeMs * (dueAt + dueJitter * (this.#options.random() - 0.5));
    const expiresAtMs = startMs + lifetimeMs * expiredAt;
    return { token, keyHash, isAccepted: false, issuedAtMs, dueAtMs, expiresAtMs };
  }
}

/** A refresh that no call waited for was sent once, without retries: the next call may try. */
function pauseMs({ code, httpStatus, retryAfterMs = 0 }: Failure, isAwaited: boolean): number {
  if (code === "API_KEY_REJECTED") return failedPauseMs.keyRejected;
  if (!isAwaited) return 0;
  if (httpStatus === undefined) return failedPauseMs.noResponse;
  return Math.min(Math.max(failedPauseMs.response, retryAfterMs), failedPauseMs.max);
}
