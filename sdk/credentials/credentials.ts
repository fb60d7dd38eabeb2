import type { RegistryScope } from "../call/process-registry.ts";
import type { Clock, Random } from "../clock.ts";
import { sha256 } from "./sha256.ts";
import type { Credential, ExchangedToken, RefreshReason, Rejection } from "./shared-token.ts";
import { acquireToken, type TokenReference } from "./token-registry.ts";

// One client's way to the token of its key. The key may come from a function, which is called once per token: also when
// another client of the key has exchanged it, so that a rotated key is used from the next token on. Calls use a token
// that is fresh or due without waiting, while it is refreshed in the background; so no call waits while traffic is steady.

export interface Key {
  readonly value: string;
  readonly hash: string;
}

export interface CredentialsOptions extends RegistryScope {
  readonly clock: Clock;
  readonly random: Random;
  /** Where the key is exchanged; tokens of different addresses are different. */
  readonly address: string;
  /** The key to use now. Rejects with `FailureError`. */
  readonly key: () => Promise<Key>;
  /** One exchange with its retries. Rejects with `FailureError`. */
  readonly exchange: (key: Key) => Promise<ExchangedToken>;
  /** Called with a token before it is used. */
  readonly onToken: (token: string) => void;
  readonly onRefresh: (event: RefreshEvent) => void;
}

export interface RefreshEvent {
  readonly reason: RefreshReason;
  readonly ok: boolean;
  readonly durationMs: number;
}

const refreshPauseMs = 2_000;

export class Credentials {
  readonly #options: CredentialsOptions;
  #reference: TokenReference | undefined;
  /** The token for which the key was read last. */
  #adopted: Credential | undefined;
  #renewal: Promise<Credential> | undefined;
  #pausedUntilMs = 0;
  #refreshHolds = 0;
  #cancelRefresh: (() => void) | undefined;
  #isClosed = false;

  constructor(options: CredentialsOptions) {
    this.#options = options;
  }

  /** The token, if it is usable now. */
  current(): Credential | undefined {
    const shared = this.#reference?.shared;
    if (!shared) return undefined;
    const nowMs = this.#options.clock.monotonic();
    const current = shared.current(nowMs);
    if (!current) return undefined;
    if (current !== this.#adopted || nowMs >= shared.dueAtMs) this.#refresh(current, nowMs);
    return current;
  }

  /** A usable token. Rejects with `FailureError`. */
  async get(): Promise<Credential> {
    return this.current() ?? this.#renewOnce();
  }

  /** Whether a call whose token was rejected can continue with another. */
  replace(rejected: Credential, operation: string, rejection: Rejection): boolean {
    const { clock } = this.#options;
    return this.#reference?.shared.replace(rejected, operation, rejection, clock.monotonic()) ?? false;
  }

  /** The operation was rejected although the token is fresh. Returns the time until the token may be replaced. */
  deny(operation: string, rejection: Rejection): number {
    const nowMs = this.#options.clock.monotonic();
    this.#reference?.shared.deny(operation, rejection, nowMs);
    return this.#reference?.shared.replaceableInMs(operation, rejection, nowMs) ?? 0;
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

  /** The token is forgotten when no other client uses it. */
  close(): void {
    this.#isClosed = true;
    this.#cancelRefresh?.();
    this.#reference?.release();
    this.#reference = undefined;
  }

  #scheduleRefresh(): void {
    this.#cancelRefresh?.();
    const shared = this.#reference?.shared;
    if (this.#refreshHolds === 0 || !shared || shared.dueAtMs === 0) return;
    const { clock } = this.#options;
    const atMs = Math.max(shared.dueAtMs, this.#pausedUntilMs);
    const refresh = () => {
      this.current();
      if (!this.#renewal) this.#scheduleRefresh();
    };
    this.#cancelRefresh = clock.schedule(atMs - clock.monotonic(), refresh, { background: true });
  }

  #refresh(current: Credential, nowMs: number): void {
    this.#options.onToken(current.token);
    if (this.#renewal || nowMs < this.#pausedUntilMs) return;
    void this.#renewOnce()
      .catch(() => {
        // The current token still works; the next attempt follows after a pause.
        this.#pausedUntilMs = this.#options.clock.monotonic() + refreshPauseMs;
      })
      .then(() => this.#scheduleRefresh());
  }

  #renewOnce(): Promise<Credential> {
    this.#renewal ??= this.#renew().finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  async #renew(): Promise<Credential> {
    const { clock, random, key: readKey } = this.#options;
    const key = await readKey();
    const { shared } = this.#referenceOf(key);
    const nowMs = clock.monotonic();
    const current = shared.current(nowMs);
    const isUsable = current !== undefined && nowMs < shared.dueAtMs;
    this.#adopted = isUsable
      ? current
      : await shared.exchange({
          ...{ keyHash: key.hash, now: () => clock.monotonic(), random },
          run: (reason) => this.#exchange(key, reason),
        });
    this.#options.onToken(this.#adopted.token);
    return this.#adopted;
  }

  async #exchange(key: Key, reason: RefreshReason): Promise<ExchangedToken> {
    const { clock, exchange, onRefresh } = this.#options;
    const sentAtMs = clock.monotonic();
    const report = (ok: boolean) => onRefresh({ reason, ok, durationMs: clock.monotonic() - sentAtMs });
    try {
      const exchanged = await exchange(key);
      report(true);
      return exchanged;
    } catch (error) {
      report(false);
      throw error;
    }
  }

  #referenceOf({ hash }: Key): TokenReference {
    const id = sha256(`${this.#options.address}\n${hash}`);
    if (this.#reference?.id === id) return this.#reference;
    this.#reference?.release();
    const reference = acquireToken(id, this.#options);
    if (this.#isClosed) reference.release();
    this.#reference = reference;
    return reference;
  }
}
