import { Failed, type Failure } from "../call/failure.ts";
import type { Clock, Random } from "../clock.ts";

/**
 * The short-lived token of one key.
 *
 * At most one exchange is under way, whoever asks. A token is replaced in the background once `refreshAt` of its
 * life has passed, so that no call waits while traffic is steady; only a token that is nearly over blocks. The
 * margins are fractions of the lifetime: with 3-minute tokens a fixed margin of minutes means an exchange per call.
 * A refused token is dropped only when it is still the current one: a hundred late refusals of an old token must
 * not throw the new one away.
 */
export interface Credential {
  readonly token: string;
  /** Hash of the key the token was made with; names the allowance it is counted against. */
  readonly keyHash: string;
  /** Operations this token was refused for although it was fetched to cure such a refusal. */
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
  /** The key to use now. Rejects with `Failed`. */
  readonly key: () => Promise<Key>;
  /** One exchange with its retries. Rejects with `Failed`. */
  readonly exchange: (key: Key) => Promise<ExchangedToken>;
  readonly onRefresh?: ((event: RefreshEvent) => void) | undefined;
}

export interface RefreshEvent {
  readonly reason: RefreshReason;
  readonly ok: boolean;
  readonly durationMs: number;
}

export type RefreshReason = "first" | "due" | "expired" | "refused";

const refreshAt = 0.82;
const refreshJitter = 0.02;
const usableUntil = 0.95;
const refreshPauseMs = 2_000;
const refusalMemoryMs = 10_000;

interface Held extends Credential {
  readonly refreshAtMs: number;
  readonly usableUntilMs: number;
}

export class Credentials {
  readonly #options: CredentialsOptions;
  #held: Held | undefined;
  #exchange: Promise<Held> | undefined;
  #reason: RefreshReason = "first";
  #pausedUntilMs = 0;
  #keepers = 0;
  #cancelKeeping: (() => void) | undefined;
  #refusal: { readonly failure: Failure; readonly keyHash: string; readonly untilMs: number } | undefined;

  constructor(options: CredentialsOptions) {
    this.#options = options;
  }

  /** The token in hand, when it is good for now. */
  current(): Credential | undefined {
    const held = this.#held;
    if (!held) return undefined;
    const nowMs = this.#options.clock.monotonic();
    if (nowMs < held.usableUntilMs) {
      if (nowMs >= held.refreshAtMs && nowMs >= this.#pausedUntilMs) this.#refreshInBackground();
      return held;
    }
    this.#held = undefined;
    this.#reason = "expired";
    return undefined;
  }

  /** A token that is good for now. Rejects with `Failed`. */
  async get(): Promise<Credential> {
    return this.current() ?? this.#exchanged();
  }

  /** The service refused this token. */
  invalidate(token: string): void {
    if (this.#held?.token !== token) return;
    this.#held = undefined;
    this.#reason = "refused";
  }

  /**
   * Refreshes in time until the returned function is called, without anybody asking for a token. For calls that wait
   * in a queue: they would come out of it together and find a token that ended meanwhile.
   */
  keepFresh(): () => void {
    this.#keepers += 1;
    if (this.#keepers === 1) this.#keep();
    let kept = true;
    return () => {
      if (kept) this.#keepers -= 1;
      kept = false;
      if (this.#keepers === 0) this.#stopKeeping();
    };
  }

  #keep(): void {
    this.#stopKeeping();
    const { clock } = this.#options;
    if (this.#keepers === 0 || !this.#held) return;
    const atMs = Math.max(this.#held.refreshAtMs, this.#pausedUntilMs);
    this.#cancelKeeping = clock.schedule(atMs - clock.monotonic(), () => this.#refreshInBackground());
  }

  #stopKeeping(): void {
    this.#cancelKeeping?.();
    this.#cancelKeeping = undefined;
  }

  #refreshInBackground(): void {
    if (this.#exchange) return;
    this.#reason = "due";
    this.#exchanged().then(
      () => this.#keep(),
      () => {
        // The token in hand still works; the next caller tries again after a pause.
        this.#pausedUntilMs = this.#options.clock.monotonic() + refreshPauseMs;
        this.#keep();
      },
    );
  }

  #exchanged(): Promise<Held> {
    this.#exchange ??= this.#runExchange().finally(() => {
      this.#exchange = undefined;
    });
    return this.#exchange;
  }

  async #runExchange(): Promise<Held> {
    const { clock, key: readKey, exchange, onRefresh } = this.#options;
    const key = await readKey();
    this.#failIfRefused(key);
    const reason = this.#reason;
    const sentAtMs = clock.monotonic();
    const settled = (ok: boolean) => onRefresh?.({ reason, ok, durationMs: clock.monotonic() - sentAtMs });
    try {
      this.#held = this.#hold(await exchange(key), key, sentAtMs);
      settled(true);
      return this.#held;
    } catch (error) {
      this.#rememberRefusal(error, key);
      settled(false);
      throw error;
    }
  }

  #hold({ token, lifetimeMs }: ExchangedToken, key: Key, sentAtMs: number): Held {
    const refreshFraction = refreshAt + refreshJitter * (this.#options.random() - 0.5);
    return {
      token,
      keyHash: key.hash,
      denied: new Set(),
      refreshAtMs: sentAtMs + lifetimeMs * refreshFraction,
      usableUntilMs: sentAtMs + lifetimeMs * usableUntil,
    };
  }

  // A refused key stays refused; asking again for each call of a burst would only hammer the service.
  #failIfRefused(key: Key): void {
    const refusal = this.#refusal;
    if (!refusal || refusal.keyHash !== key.hash) return;
    if (this.#options.clock.monotonic() < refusal.untilMs) throw new Failed(refusal.failure);
  }

  #rememberRefusal(error: unknown, key: Key): void {
    if (!(error instanceof Failed) || error.failure.code !== "API_KEY_REJECTED") return;
    const untilMs = this.#options.clock.monotonic() + refusalMemoryMs;
    this.#refusal = { failure: error.failure, keyHash: key.hash, untilMs };
  }
}
