import { type Failure, FailureError } from "../call/failure.ts";

// The short-lived token of one key, shared by all clients of the process that use the key at one address. Its states:
//
//   missing ──exchange──► exchanging ──ok──► fresh ──82 % of its lifetime──► due ──95 %──► expired (= missing)
//                             │                ▲                              │
//                             │ failed         └───────── exchanged ◄─────────┘
//                             ▼
//                          missing ◄──────────────── fresh or due ──replace──► missing
//
// At most one exchange is in flight, and all calls of all clients that need a token share it. An exchange that another
// client started can fail for that client's reasons (it was closed, its `fetch` is broken), so a client that joined it
// starts one itself. The limits are fractions of the lifetime: with tokens of 3 minutes a fixed margin of minutes would cause an
// exchange per call. A key that was rejected is not exchanged again for 10 s.
//
// A rejected token is replaced by another. A token that was never accepted is replaced at most once per 5 s: a service
// that issues bad tokens for a while costs a few exchanges, and calls succeed seconds after it has recovered. An operation
// that was rejected with a fresh token too is remembered for 5 s. "Unauthorized" without a code may also mean that the
// key's owner may not do this; then the operation is remembered for 10 s, or for about the life of a token when the
// token was accepted for other operations.

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
  readonly dueAtMs: number;
  readonly expiresAtMs: number;
}

/** One client's exchange. Rejects with `FailureError`. */
export interface TokenExchange {
  readonly keyHash: string;
  readonly now: () => number;
  readonly random: () => number;
  run(reason: RefreshReason): Promise<ExchangedToken>;
}

const dueAt = 0.82;
const dueJitter = 0.02;
const expiredAt = 0.95;
const rejectedKeyMs = 10_000;
const replacePauseMs = 5_000;
const ambiguousPauseMs = { accepted: 150_000, notAccepted: 10_000 };
const deniedMax = 200;

export class SharedToken {
  #current: CurrentToken | undefined;
  #exchange: Promise<Credential> | undefined;
  #reason: RefreshReason = "first";
  #replacedAtMs = Number.NEGATIVE_INFINITY;
  /** When operations were rejected although the token was fresh. */
  readonly #deniedAtMs = new Map<string, number>();
  #rejectedKey: { readonly failure: Failure; readonly untilMs: number } | undefined;

  /** The token, if it is usable now. */
  current(nowMs: number): Credential | undefined {
    if (this.#current && nowMs >= this.#current.expiresAtMs) {
      this.#current = undefined;
      this.#reason = "expired";
    }
    return this.#current;
  }

  /** When the token should be exchanged; 0 without a token. */
  get dueAtMs(): number {
    return this.#current?.dueAtMs ?? 0;
  }

  /** Exchanges the key, or joins the exchange in flight. Rejects with `FailureError`. */
  async exchange(exchange: TokenExchange): Promise<Credential> {
    for (;;) {
      if (!this.#exchange) return this.#start(exchange);
      try {
        return await this.#exchange;
      } catch (error) {
        if (error instanceof FailureError && error.failure.code === "API_KEY_REJECTED") throw error;
      }
    }
  }

  /** Whether a call whose token was rejected can continue with another. */
  replace(rejected: Credential, operation: string, rejection: Rejection, nowMs: number): boolean {
    if (this.#current?.token !== rejected.token) return true;
    if (this.replaceableInMs(operation, rejection, nowMs) > 0) return false;
    this.#replacedAtMs = nowMs;
    this.#reason = "rejected";
    this.#current = undefined;
    return true;
  }

  /** The operation was rejected although the token is fresh. */
  deny(operation: string, rejection: Rejection, nowMs: number): void {
    // Not prolonged by further rejections: the next token would never be asked for.
    if (this.#deniedForMs(operation, rejection, nowMs) > 0) return;
    if (this.#deniedAtMs.size >= deniedMax) this.#deniedAtMs.clear();
    this.#deniedAtMs.set(operation, nowMs);
  }

  /** The time until the token may be replaced because of this operation. */
  replaceableInMs(operation: string, rejection: Rejection, nowMs: number): number {
    const pauseMs = this.#current?.isAccepted ? 0 : this.#replacedAtMs + replacePauseMs - nowMs;
    return Math.max(0, pauseMs, this.#deniedForMs(operation, rejection, nowMs));
  }

  #deniedForMs(operation: string, rejection: Rejection, nowMs: number): number {
    const atMs = this.#deniedAtMs.get(operation) ?? Number.NEGATIVE_INFINITY;
    if (rejection === "token") return Math.max(0, atMs + replacePauseMs - nowMs);
    const { accepted, notAccepted } = ambiguousPauseMs;
    return Math.max(0, atMs + (this.#current?.isAccepted ? accepted : notAccepted) - nowMs);
  }

  #start(exchange: TokenExchange): Promise<Credential> {
    const { failure, untilMs = 0 } = this.#rejectedKey ?? {};
    // A burst of calls with a rejected key would otherwise cause an exchange per call.
    if (failure && exchange.now() < untilMs) return Promise.reject(new FailureError(failure));
    this.#exchange = this.#run(exchange).finally(() => {
      this.#exchange = undefined;
    });
    return this.#exchange;
  }

  async #run({ run, keyHash, now, random }: TokenExchange): Promise<Credential> {
    const sentAtMs = now();
    const reason = this.#current ? "due" : this.#reason;
    try {
      const { token, lifetimeMs } = await run(reason);
      this.#current = {
        token,
        keyHash,
        isAccepted: false,
        dueAtMs: sentAtMs + lifetimeMs * (dueAt + dueJitter * (random() - 0.5)),
        expiresAtMs: sentAtMs + lifetimeMs * expiredAt,
      };
      return this.#current;
    } catch (error) {
      if (error instanceof FailureError && error.failure.code === "API_KEY_REJECTED") {
        this.#rejectedKey = { failure: error.failure, untilMs: sentAtMs + rejectedKeyMs };
      }
      throw error;
    }
  }
}
