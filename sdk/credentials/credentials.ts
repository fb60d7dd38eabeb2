import type { Random } from "@workspace-tasks/kernel/random.ts";
import type { CallScope } from "../call/call-scope.ts";
import { FailureError } from "../call/failure.ts";
import { SharedEntries, type SharedScope } from "../call/shared-entries.ts";
import { SharedWork } from "../call/shared-work.ts";
import { sha256 } from "./sha256.ts";
import { type Credential, type ExchangedToken, type RefreshReason, SharedToken } from "./shared-token.ts";

// One client's way to the token of its key. The key may come from a function, which is called when this client needs
// another token. Calls use a token that is fresh or due without waiting, while it is refreshed in the background; so no
// call waits while traffic is steady.

export interface Key {
  readonly value: string;
  readonly hash: string;
}

export interface CredentialsOptions extends SharedScope {
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

/** While calls wait for the rate limit. */
const watchMs = 5_000;

export class Credentials {
  readonly #options: CredentialsOptions;
  readonly #tokens: SharedEntries<SharedToken>;
  /** Of the key that was used last; looked up again when it has no token. */
  #shared: SharedToken | undefined;
  /** The token returned last; another client may have exchanged it. */
  #known: Credential | undefined;
  #renewing: SharedWork<Credential> | undefined;
  #waitingInQueue = 0;
  #cancelWatch = () => {};

  constructor(options: CredentialsOptions) {
    this.#options = options;
    this.#tokens = new SharedEntries("tokens", options);
  }

  /** The token, if it is usable now. */
  current(): Credential | undefined {
    const shared = this.#shared;
    const current = shared?.current();
    if (!shared || !current) return undefined;
    if (shared.isDue()) this.#renewing ??= this.#renew();
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

  /** Whether a call whose token was rejected should be sent again. See `SharedToken`. */
  reject(rejected: Credential, mayBePermission: boolean): boolean {
    return this.#shared?.reject(rejected, mayBePermission) ?? true;
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

  #renew(): SharedWork<Credential> {
    const { clientScope: parent, clock } = this.#options;
    return new SharedWork({
      ...{ parent, clock },
      run: (work) => this.#readKeyAndRefresh(work),
      onSettled: () => {
        this.#renewing = undefined;
      },
    });
  }

  async #readKeyAndRefresh(work: SharedWork<Credential>): Promise<Credential> {
    const { clock, random, address, key: readKey } = this.#options;
    try {
      const key = await readKey(work.scope);
      if (work.scope.failure) throw new FailureError(work.scope.failure);
      const id = sha256(`${address}\n${key.hash}`);
      this.#shared = this.#tokens.getOrCreate(id, () => new SharedToken(clock));
      const run = (reason: RefreshReason) => this.#exchange(key, reason, work);
      return this.#use(await this.#shared.refresh({ keyHash: key.hash, random, work, run }));
    } catch (error) {
      this.#shared?.postpone();
      throw error;
    }
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
}
