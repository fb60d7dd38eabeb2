import { type Failure, FailureError } from "../call/failure.ts";
import type { Clock, Random } from "../clock.ts";

// The short-lived token of one key. Its states:
//
//   missing ──get──► exchanging ──ok──► fresh ──82 % of its lifetime──► due ──95 %──► expired (= missing)
//                        │                ▲                              │
//                        │ failed         └──────── refreshed ◄──────────┤ in the background; after a failure again
//                        ▼                                               │ when 2 s have passed
//                     missing                          fresh or due ──invalidate──► missing
//
// At most one exchange is in flight, and all calls that need a token share it. Calls use a token that is fresh or due
// without waiting; so no call waits while traffic is steady. The limits are fractions of the lifetime: with tokens of 3
// minutes a fixed margin of minutes would cause an exchange per call. `invalidate` ignores a token that is no longer
// the current one: a hundred late rejections of an old token must not discard the new one. A key that was rejected
// is not exchanged again for 10 s.

export interface Credential {
  readonly token: string;
  /** Hash of the key that the token was issued for; identifies the rate limit it counts against. */
  readonly keyHash: string;
  /** Operations that were rejected although the token had been fetched because of such a rejection. */
  readonly denied: Set<string>;
}

export interface Key {
  readonly value: string;
  readonly hash: string;
}

export interface ExchangedToken {
  readonly token: string;
  readonly lifetimeMs: number;
}

export interface CredentialsOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** The key to use now. Rejects with `FailureError`. */
  readonly key: () => Promise<Key>;
  /** One exchange with its retries. Rejects with `FailureError`. */
  readonly exchange: (key: Key) => Promise<ExchangedToken>;
  readonly onRefresh: (event: RefreshEvent) => void;
}

export interface RefreshEvent {
  readonly reason: RefreshReason;
  readonly ok: boolean;
  readonly durationMs: number;
}

export type RefreshReason = "first" | "due" | "expired" | "rejected";

const dueAt = 0.82;
const dueJitter = 0.02;
const expiredAt = 0.95;
const refreshPauseMs = 2_000;
const rejectedKeyMs = 10_000;

interface CurrentToken extends Credential {
  readonly dueAtMs: number;
  readonly expiresAtMs: number;
}

export class Credentials {
  readonly #options: CredentialsOptions;
  #current: CurrentToken | undefined;
  #exchange: Promise<Credential> | undefined;
  #reason: RefreshReason = "first";
  #pausedUntilMs = 0;
  #refreshHolds = 0;
  #cancelRefresh: (() => void) | undefined;
  #rejectedKey: { readonly failure: Failure; readonly hash: string; readonly untilMs: number } | undefined;

  constructor(options: CredentialsOptions) {
    this.#options = options;
  }

  /** The token, if it is usable now. */
  current(): Credential | undefined {
    const current = this.#current;
    if (!current) return undefined;
    const nowMs = this.#options.clock.monotonic();
    if (nowMs < current.expiresAtMs) {
      if (nowMs >= current.dueAtMs && nowMs >= this.#pausedUntilMs) this.#refreshInBackground();
      return current;
    }
    this.#current = undefined;
    this.#reason = "expired";
    return undefined;
  }

  /** A usable token. Rejects with `FailureError`. */
  async get(): Promise<Credential> {
    return this.current() ?? this.#exchangeOnce();
  }

  /** The service rejected this token. */
  invalidate(token: string): void {
    if (this.#current?.token !== token) return;
    this.#current = undefined;
    this.#reason = "rejected";
  }

  /**
   * Refreshes the token when it is due, without a call that asks for it, until the returned function is called. For
   * calls in the queue: otherwise their token could expire while they wait.
   */
  autoRefresh(): () => void {
    this.#refreshHolds += 1;
    if (this.#refreshHolds === 1) this.#scheduleRefresh();
    let isHeld = true;
    return () => {
      if (isHeld) this.#refreshHolds -= 1;
      isHeld = false;
      if (this.#refreshHolds === 0) this.#cancelRefresh?.();
    };
  }

  #scheduleRefresh(): void {
    this.#cancelRefresh?.();
    if (this.#refreshHolds === 0 || !this.#current) return;
    const { clock } = this.#options;
    const atMs = Math.max(this.#current.dueAtMs, this.#pausedUntilMs);
    this.#cancelRefresh = clock.schedule(atMs - clock.monotonic(), () => this.#refreshInBackground(), {
      background: true,
    });
  }

  #refreshInBackground(): void {
    if (this.#exchange) return;
    this.#reason = "due";
    void this.#exchangeOnce()
      .catch(() => {
        // The current token still works; the next attempt follows after a pause.
        this.#pausedUntilMs = this.#options.clock.monotonic() + refreshPauseMs;
      })
      .then(() => this.#scheduleRefresh());
  }

  #exchangeOnce(): Promise<Credential> {
    this.#exchange ??= this.#runExchange().finally(() => {
      this.#exchange = undefined;
    });
    return this.#exchange;
  }

  async #runExchange(): Promise<Credential> {
    const { clock, key: readKey, exchange, onRefresh } = this.#options;
    const key = await readKey();
    this.#failIfRejected(key);
    const reason = this.#reason;
    const sentAtMs = clock.monotonic();
    const report = (ok: boolean) => onRefresh({ reason, ok, durationMs: clock.monotonic() - sentAtMs });
    try {
      this.#current = this.#toCurrent(await exchange(key), key, sentAtMs);
      report(true);
      return this.#current;
    } catch (error) {
      this.#rememberRejection(error, key);
      report(false);
      throw error;
    }
  }

  #toCurrent({ token, lifetimeMs }: ExchangedToken, { hash }: Key, sentAtMs: number): CurrentToken {
    const dueFraction = dueAt + dueJitter * (this.#options.random() - 0.5);
    return {
      token,
      keyHash: hash,
      denied: new Set(),
      dueAtMs: sentAtMs + lifetimeMs * dueFraction,
      expiresAtMs: sentAtMs + lifetimeMs * expiredAt,
    };
  }

  // A burst of calls with a rejected key would otherwise cause an exchange per call.
  #failIfRejected(key: Key): void {
    const rejected = this.#rejectedKey;
    if (rejected?.hash !== key.hash) return;
    if (this.#options.clock.monotonic() < rejected.untilMs) throw new FailureError(rejected.failure);
  }

  #rememberRejection(error: unknown, { hash }: Key): void {
    if (!(error instanceof FailureError) || error.failure.code !== "API_KEY_REJECTED") return;
    const untilMs = this.#options.clock.monotonic() + rejectedKeyMs;
    this.#rejectedKey = { failure: error.failure, hash, untilMs };
  }
}
