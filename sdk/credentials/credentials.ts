import type { CallScope } from "../call/call-scope.ts";
import { FailureError } from "../call/failure.ts";
import type { RegistryScope } from "../call/process-registry.ts";
import { SharedWork } from "../call/shared-work.ts";
import type { Random } from "../clock.ts";
import { sha256 } from "./sha256.ts";
import type { Credential, ExchangedToken, RefreshReason, Rejection } from "./shared-token.ts";
import { acquireToken, type TokenReference } from "./token-registry.ts";

// One client's way to the token of its key. The key may come from a function, which is called when this client needs
// another token. Calls use a token that is fresh or due without waiting, while it is refreshed in the background; so no
// call waits while traffic is steady.

export interface Key {
  readonly value: string;
  readonly hash: string;
}

export interface CredentialsOptions extends RegistryScope {
  readonly random: Random;
  /** Where the key is exchanged; tokens of different addresses are different. */
  readonly address: string;
  readonly clientScope: CallScope;
  /** The key to use now. Rejects with `FailureError`. */
  readonly key: (scope: CallScope) => Promise<Key>;
  /** One exchange, with retries while it is awaited. Rejects with `FailureError`. */
  readonly exchange: (key: Key, work: SharedWork<Credential>) => Promise<ExchangedToken>;
  /** Called with a token before it is used. */
  readonly onToken: (token: string) => void;
  readonly onRefresh: (event: RefreshEvent) => void;
}

export interface RefreshEvent {
  readonly reason: RefreshReason;
  readonly ok: boolean;
  readonly durationMs: number;
}

const refreshPauseMs = 5_000;
/** Calls with short deadlines still get a token that takes longer than one of them. */
const unawaitedMs = 2_000;

export class Credentials {
  readonly #options: CredentialsOptions;
  #reference: TokenReference | undefined;
  /** The token returned last; another client may have exchanged it. */
  #known: Credential | undefined;
  #renewing: SharedWork<Credential> | undefined;
  #refreshAtMs = 0;
  #waitingInQueue = 0;
  #cancelWatch = () => {};

  constructor(options: CredentialsOptions) {
    this.#options = options;
  }

  /** The token, if it is usable now. */
  current(): Credential | undefined {
    const shared = this.#reference?.shared;
    const nowMs = this.#options.clock.monotonic();
    const current = shared?.current(nowMs);
    if (!shared || !current) return undefined;
    if (shared.isDue(nowMs) && nowMs >= this.#refreshAtMs) {
      // If it fails, the current token still works, and the next attempt follows after a pause.
      this.#refreshAtMs = nowMs + refreshPauseMs;
      this.#renewing ??= this.#renew();
    }
    return this.#use(current);
  }

  /** A usable token, waited for as long as the scope. Rejects with `FailureError`. */
  async get(scope: CallScope): Promise<Credential> {
    const { clientScope } = this.#options;
    for (;;) {
      const ended = scope.failure ?? clientScope.failure;
      if (ended) throw new FailureError(ended);
      const current = this.current();
      if (current) return current;
      this.#renewing ??= this.#renew();
      const renewing = this.#renewing;
      try {
        return await renewing.join(scope);
      } catch (error) {
        // Otherwise it ended because the calls before this one did not wait for it.
        if (!renewing.scope.failure) throw error;
      }
    }
  }

  /** Whether a call whose token was rejected should be sent again. */
  replace(rejected: Credential, rejection: Rejection): boolean {
    const nowMs = this.#options.clock.monotonic();
    return this.#reference?.shared.replace(rejected, rejection, nowMs) ?? false;
  }

  /** The time until a token that the service rejects is replaced. */
  replaceableInMs(): number {
    return this.#reference?.shared.replaceableInMs(this.#options.clock.monotonic()) ?? 0;
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

  /** The token is forgotten when no other client uses it. */
  close(): void {
    this.#reference?.release();
    this.#reference = undefined;
  }

  #watch(): void {
    const refresh = () => {
      this.current();
      this.#watch();
    };
    this.#cancelWatch = this.#options.clock.schedule(refreshPauseMs, refresh, { background: true });
  }

  #renew(): SharedWork<Credential> {
    const { clientScope: parent, clock } = this.#options;
    return new SharedWork({
      ...{ parent, clock, unawaitedMs },
      run: (work) => this.#readAndExchange(work),
      onSettled: () => {
        this.#renewing = undefined;
      },
    });
  }

  async #readAndExchange(renewing: SharedWork<Credential>): Promise<Credential> {
    const { scope } = renewing;
    const { clock, random, clientScope, key: readKey } = this.#options;
    const key = await readKey(scope);
    if (scope.failure) throw new FailureError(scope.failure);
    const { shared } = this.#referenceOf(key);
    const nowMs = clock.monotonic();
    const current = shared.isDue(nowMs) ? undefined : shared.current(nowMs);
    const run = (reason: RefreshReason, work: SharedWork<Credential>) => this.#exchange(key, reason, work);
    const client = { keyHash: key.hash, clock, random, clientScope, run };
    return this.#use(current ?? (await shared.exchange(client, renewing)));
  }

  async #exchange(key: Key, reason: RefreshReason, work: SharedWork<Credential>): Promise<ExchangedToken> {
    const { clock, exchange, onRefresh } = this.#options;
    const sentAtMs = clock.monotonic();
    const report = (ok: boolean) => onRefresh({ reason, ok, durationMs: clock.monotonic() - sentAtMs });
    try {
      const exchanged = await exchange(key, work);
      report(true);
      return exchanged;
    } catch (error) {
      report(false);
      throw error;
    }
  }

  #use(credential: Credential): Credential {
    if (credential !== this.#known) this.#options.onToken(credential.token);
    this.#known = credential;
    return credential;
  }

  #referenceOf({ hash }: Key): TokenReference {
    const id = sha256(`${this.#options.address}\n${hash}`);
    if (this.#reference?.id === id) return this.#reference;
    this.#reference?.release();
    this.#reference = acquireToken(id, this.#options);
    return this.#reference;
  }
}
