// The two ways to get a token for a key: the workspace's token exchange (interface §5) and the partner login (beyond
// the interface). Both need no token, are not counted, and are safe to repeat: an unused token has no effect.

import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import type { CallScope } from "../call/call-scope.ts";
import { type Failure, FailureError, failure } from "../call/failure.ts";
import { defineOperation, type UntypedOperation } from "../call/operation.ts";
import { type Redactor, secretLengthMax } from "../call/redactor.ts";
import { decideRetry } from "../request/retry-policy.ts";
import type { AttemptResult, SendAttempt } from "../request/transport.ts";
import { Credentials, type CredentialsOptions, type ExchangedToken, type Key } from "./credentials.ts";
import { sha256 } from "./sha256.ts";

/** A key, or a function that returns it. The function is called at every exchange, so that a rotated key is used. */
export type ApiKeySource = string | (() => string | Promise<string>);

export interface KeyExchange {
  readonly name: "apiKey" | "partnerApiKey";
  /** The option with the address of the exchange. */
  readonly urlOption: "baseUrl" | "gatewayUrl";
  readonly operation: UntypedOperation;
  readonly variables: (key: string) => unknown;
  readonly readToken: (data: unknown) => unknown;
}

export const workspaceExchange: KeyExchange = {
  name: "apiKey",
  urlOption: "baseUrl",
  operation: defineOperation("ExchangeApiKey", "apiKey"),
  variables: (refreshToken) => ({ refreshToken }),
  readToken: (data) => fieldOf(fieldOf(data, "exchangeSurfaceRefreshTokenForAccessTokens"), "workspaceToken"),
};

export const partnerLogin: KeyExchange = {
  name: "partnerApiKey",
  urlOption: "gatewayUrl",
  operation: defineOperation("LoginPartner", "partnerApiKey"),
  variables: (token) => ({ token }),
  readToken: (data) => fieldOf(fieldOf(data, "loginViaPersonalApiToken"), "accessToken"),
};

export interface KeyExchangeOptions extends Pick<CredentialsOptions, "random" | "onRefresh"> {
  readonly exchange: KeyExchange;
  readonly source: ApiKeySource;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly sendAttempt: SendAttempt;
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly timeoutMs: number;
  readonly maxRetries: number;
  readonly clientScope: CallScope;
}

export function createCredentials(options: KeyExchangeOptions): Credentials {
  // Before the first exchange: an error of an upload's stream can come first.
  if (typeof options.source === "string") options.redactor.remember(options.source);
  return new Credentials({
    ...options,
    readKey: () => readKey(options),
    exchange: (key, isAwaited) => exchangeKey(options, key, isAwaited),
  });
}

/** True for a key or token that can be sent in a header; a line end at its end is the most common error. */
export function isSendableKey(key: string): boolean {
  return key.length <= secretLengthMax && /^[\x21-\x7e]+$/.test(key);
}

async function readKey(options: KeyExchangeOptions): Promise<Key> {
  const { source, exchange, redactor } = options;
  const value: unknown = typeof source === "string" ? source : await callSource(options, source);
  if (typeof value !== "string" || !isSendableKey(value)) {
    const message = `${exchange.name}: expected the function to return a key without spaces or line ends`;
    throw new FailureError(failure("CONFIGURATION_INVALID", message));
  }
  redactor.remember(value);
  return { value, hash: sha256(value) };
}

async function callSource(
  { exchange, redactor, timeoutMs, clientScope }: KeyExchangeOptions,
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

async function exchangeKey(
  options: KeyExchangeOptions,
  key: Key,
  isAwaited: () => boolean,
): Promise<ExchangedToken> {
  const { exchange, redactor, url, headers, random, timeoutMs, maxRetries, clientScope: scope } = options;
  const { operation, readToken } = exchange;
  const variables = exchange.variables(key.value);
  const onData = (data: unknown) => {
    const token = readToken(data);
    if (typeof token === "string") redactor.remember(token);
  };
  const request = { operation, variables, url, headers, timeoutMs, scope, onData, kind: "query" } as const;
  for (let retries = 0; ; retries += 1) {
    const result = await options.sendAttempt(request);
    const token = tokenOf(exchange, result);
    if (token) return token;
    const failed = failureOf(result, exchange);
    const state = {
      hasLimiter: false,
      idempotent: true,
      retries,
      maxRetries,
      remainingMs: Number.POSITIVE_INFINITY,
    };
    const decision = decideRetry(failed, state, random);
    if (decision.type === "repeat") await scope.sleep(decision.delayMs);
    if (decision.type !== "repeat" || !isAwaited()) {
      throw new FailureError({ ...failed, data: undefined });
    }
  }
}

function tokenOf(exchange: KeyExchange, { failure, data }: AttemptResult): ExchangedToken | undefined {
  const token = failure ? undefined : exchange.readToken(data);
  if (typeof token !== "string" || !isSendableKey(token)) return undefined;
  return { token, lifetimeMs: tokenLifetimeMs(token) };
}

function failureOf({ failure: found, response }: AttemptResult, exchange: KeyExchange): Failure {
  if (found) return keyFailure(found, exchange);
  const message = `${exchange.name} exchange: expected a token without spaces or line ends, got none`;
  return failure("RESPONSE_INVALID", message, { httpStatus: response?.status });
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
  const { exp = 0, iat = 0 } = readClaims(token);
  const lifetimeMs = 1_000 * (exp - iat);
  return lifetimeMs > 0 && lifetimeMs <= lifetimeMsMax ? lifetimeMs : documentedLifetimeMs;
}

interface Claims {
  readonly exp?: number | undefined;
  readonly iat?: number | undefined;
}

function readClaims(token: string): Claims {
  const [, payload, signature] = token.split(".");
  if (payload === undefined || signature === undefined) return {};
  try {
    const claims: unknown = JSON.parse(atob(payload.replaceAll("-", "+").replaceAll("_", "/")));
    if (typeof claims !== "object" || claims === null) return {};
    return { exp: numberField(claims, "exp"), iat: numberField(claims, "iat") };
  } catch {
    // Not a JWT: tokens are opaque by contract.
    return {};
  }
}

function numberField(claims: object, name: string): number | undefined {
  const value: unknown = Reflect.get(claims, name);
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}
