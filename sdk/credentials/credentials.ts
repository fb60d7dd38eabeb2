import { utf8 } from "@workspace-tasks/kernel/bytes.ts";
import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import fastSha256 from "fast-sha256";
import type { CallScope } from "../call/call-scope.ts";
import { type Failure, FailureError, failure } from "../call/failure.ts";
import { defineOperation, type UntypedOperation } from "../call/operation.ts";
import { type Redactor, secretLengthMax } from "../call/redactor.ts";
import { decideRetry } from "../request/retry-policy.ts";
import type { SendAttempt } from "../request/transport.ts";
import { isQuoted, quotesHint } from "../validation.ts";

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

/** A key, or a function that returns it. The function is called at every exchange, so that a rotated key is used. */
export type ApiKeySource = string | (() => string | Promise<string>);

/** How a key is exchanged. It needs no token, is not counted, and is safe to repeat: an unused token has no effect. */
export interface KeyExchange {
  readonly name: "apiKey" | "partnerApiKey";
  /** The option with the address of the exchange. */
  readonly urlOption: "baseUrl" | "gatewayUrl";
  readonly operation: UntypedOperation;
  readonly variables: (key: string) => unknown;
  readonly readToken: (data: unknown) => unknown;
}

/** Interface §5. */
export const workspaceExchange: KeyExchange = {
  name: "apiKey",
  urlOption: "baseUrl",
  operation: defineOperation("ExchangeApiKey", "apiKey"),
  variables: (refreshToken) => ({ refreshToken }),
  readToken: (data) => fieldOf(fieldOf(data, "exchangeSurfaceRefreshTokenForAccessTokens"), "workspaceToken"),
};

/** Beyond the interface. */
export const partnerLogin: KeyExchange = {
  name: "partnerApiKey",
  urlOption: "gatewayUrl",
  operation: defineOperation("LoginPartner", "partnerApiKey"),
  variables: (token) => ({ token }),
  readToken: (data) => fieldOf(fieldOf(data, "loginViaPersonalApiToken"), "accessToken"),
};

export interface Credential {
  readonly token: string;
  /** Hash of the key that the token was issued for; identifies the rate limit it counts against. */
  readonly keyHash: string;
  /** The service accepted a request with this token. */
  isAccepted: boolean;
}

interface CurrentToken extends Credential {
  readonly issuedAtMs: number;
  dueAtMs: number;
  readonly expiresAtMs: number;
}

interface RefreshEvent {
  readonly reason: "first" | "due" | "expired" | "rejected";
  readonly ok: boolean;
  readonly durationMs: number;
}

interface CredentialsOptions {
  readonly exchange: KeyExchange;
  readonly source: ApiKeySource;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly sendAttempt: SendAttempt;
  readonly clock: Clock;
  readonly random: () => number;
  readonly redactor: Redactor;
  readonly timeoutMs: number;
  readonly maxRetries: number;
  readonly clientScope: CallScope;
  readonly onRefresh: (event: RefreshEvent) => void;
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

  constructor(options: CredentialsOptions) {
    this.#options = options;
    // Before the first exchange: an error of an upload's stream can come first.
    if (typeof options.source === "string") options.redactor.remember(options.source);
  }

  /** Takes the token, if it is usable now; one that is due is exchanged in the background. */
  take(): Credential | undefined {
    const current = this.#current;
    if (!current) return undefined;
    const nowMs = this.#options.clock.monotonic();
    if (nowMs >= current.expiresAtMs) this.#drop("expired");
    else if (nowMs >= current.dueAtMs) void this.#refresh();
    return this.#current;
  }

  /** A usable token, waited for as long as the scope. Rejects with `FailureError`. */
  async get(scope: CallScope): Promise<Credential> {
    const current = this.take();
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
      // Its failure is of no use when no call waits.
      this.#exchanging.catch(() => {});
    }
    return this.#exchanging;
  }

  async #exchange(): Promise<Credential> {
    const { clock, random } = this.#options;
    try {
      const key = await readKey(this.#options);
      const keyHash = sha256(key);
      const sentAtMs = clock.monotonic();
      const token = await this.#report(keyHash, () =>
        exchangeKey(this.#options, key, () => this.#waiting > 0),
      );
      const lifetimeMs = tokenLifetimeMs(token);
      const issuedAtMs = clock.monotonic();
      // Counted from the request; from later when the exchange took most of the lifetime, so that the token has a use.
      const startMs = Math.max(sentAtMs, issuedAtMs - lifetimeMs / 2);
      const dueAtMs = startMs + lifetimeMs * (dueAt + dueJitter * (random() - 0.5));
      const expiresAtMs = startMs + lifetimeMs * expiredAt;
      this.#current = { token, keyHash, isAccepted: false, issuedAtMs, dueAtMs, expiresAtMs };
      return this.#current;
    } catch (error) {
      // The current token works until it expires.
      if (this.#current) this.#current.dueAtMs = clock.monotonic() + failedPauseMs.response;
      throw error;
    }
  }

  async #report(keyHash: string, exchange: () => Promise<string>): Promise<string> {
    const { clock, onRefresh } = this.#options;
    const sentAtMs = clock.monotonic();
    const failed = this.#failed;
    if (failed?.keyHash === keyHash && sentAtMs < failed.untilMs) throw new FailureError(failed.failure);
    const reason = this.#current ? "due" : this.#reason;
    let ok = false;
    try {
      const token = await exchange();
      ok = true;
      return token;
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

/** True for a key or token that can be sent in a header; a line end at its end is the most common error. */
export function isSendableKey(key: string): boolean {
  return key.length <= secretLengthMax && /^[\x21-\x7e]+$/.test(key);
}

/** The key to use now. */
async function readKey(options: CredentialsOptions): Promise<string> {
  const { source, exchange, redactor } = options;
  const key: unknown = typeof source === "string" ? source : await callSource(options, source);
  if (typeof key !== "string" || !isSendableKey(key)) {
    const message = `${exchange.name}: expected the function to return a key without spaces or line ends`;
    throw new FailureError(failure("CONFIGURATION_INVALID", message));
  }
  if (isQuoted(key)) {
    const message = `${exchange.name}: the key that the function returned ${quotesHint}`;
    throw new FailureError(failure("CONFIGURATION_INVALID", message));
  }
  redactor.remember(key);
  return key;
}

async function callSource(
  { exchange, redactor, timeoutMs, clientScope }: CredentialsOptions,
  source: Exclude<ApiKeySource, string>,
): Promise<unknown> {
  const unavailable = (what: string, cause?: unknown) =>
    failure("API_KEY_UNAVAILABLE", `${exchange.name}: the function that returns the key ${what}`, { cause });
  const onLimit = () => unavailable(`did not return within timeoutMs (${timeoutMs})`);
  try {
    return await clientScope.within({ limitMs: timeoutMs, onLimit }, () => source());
  } catch (error) {
    if (error instanceof FailureError) throw error;
    throw new FailureError(unavailable("failed", redactor.cause(error)));
  }
}

/** One exchange, with retries while a call waits for it. */
async function exchangeKey(
  options: CredentialsOptions,
  key: string,
  isAwaited: () => boolean,
): Promise<string> {
  const { exchange, sendAttempt, url, headers, timeoutMs, maxRetries, random, redactor, clientScope } =
    options;
  const { operation, readToken } = exchange;
  const onData = (data: unknown) => {
    const token = readToken(data);
    if (typeof token === "string") redactor.remember(token);
  };
  const request = {
    operation,
    variables: exchange.variables(key),
    url,
    headers,
    timeoutMs,
    scope: clientScope,
    onData,
    kind: "query",
  } as const;
  const always = { hasLimiter: false, idempotent: true, maxRetries, remainingMs: Number.POSITIVE_INFINITY };
  for (let retries = 0; ; retries += 1) {
    const { failure: found, data, response } = await sendAttempt(request);
    const token = found ? undefined : readToken(data);
    if (typeof token === "string" && isSendableKey(token)) return token;
    const failed = found ? keyFailure(found, exchange) : noToken(exchange, response?.status);
    const retry = decideRetry(failed, { ...always, retries }, random);
    if (retry) await clientScope.sleep(retry.delayMs);
    if (!retry || !isAwaited()) throw new FailureError({ ...failed, data: undefined });
  }
}

function noToken({ name }: KeyExchange, httpStatus: number | undefined): Failure {
  const message = `${name} exchange: expected a token without spaces or line ends, got none`;
  return failure("RESPONSE_INVALID", message, { httpStatus });
}

// Interface §7 says only that an error is returned for a key that is wrong, revoked or expired.
function keyFailure(cause: Failure, { name, urlOption }: KeyExchange): Failure {
  const { code, message, httpStatus, errors, requestId, headers, extensions } = cause;
  if (code === "RATE_LIMITED") {
    return { ...cause, outcome: "not_sent", message: `${name} exchange: ${message}` };
  }
  const isServiceFault = ["DOCUMENT_INVALID", "SERVICE_FAILED", "SERVICE_UNAVAILABLE"].includes(code);
  const isRejection = code === "PERMISSION_DENIED" || code === "TOKEN_REJECTED";
  if (isServiceFault || (!isRejection && errors === undefined)) {
    // The other router does not have the mutation of the exchange.
    const hint = code === "DOCUMENT_INVALID" ? `; check ${urlOption}` : "";
    return { ...cause, outcome: "not_sent", message: `${name} exchange: ${message}${hint}` };
  }
  const details = { httpStatus, errors, requestId, headers, extensions };
  return failure("API_KEY_REJECTED", `the service rejected ${name}: ${message}`, details);
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

// Interface §5. Used only for a token without the claims.
const documentedLifetimeMs = 180_000;
// Interface §5: the service issues no token for longer; a larger claim means a wrong clock.
const lifetimeMsMax = 1_800_000;

/**
 * Lifetime of a token, counted from the moment its exchange was sent. `exp` is a time of the service's clock, so it is
 * compared with the time of issue, `iat`, and with no other clock.
 */
export function tokenLifetimeMs(token: string): number {
  const claims = claimsOf(token);
  const lifetimeMs = 1_000 * (Number(fieldOf(claims, "exp")) - Number(fieldOf(claims, "iat")));
  return lifetimeMs > 0 && lifetimeMs <= lifetimeMsMax ? lifetimeMs : documentedLifetimeMs;
}

/** The payload of a JWT. Tokens are opaque by contract, so any other is none. */
function claimsOf(token: string): unknown {
  const [, payload, signature] = token.split(".");
  if (payload === undefined || signature === undefined) return undefined;
  try {
    return JSON.parse(atob(payload.replaceAll("-", "+").replaceAll("_", "/")));
  } catch {
    return undefined;
  }
}

/** The SHA-256 of a text, in hex. Not of `node:crypto`, which browsers do not have, nor of their own, which is asynchronous. */
export function sha256(text: string): string {
  return Array.from(fastSha256.hash(utf8(text)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
