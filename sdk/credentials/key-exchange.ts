import { CallScope } from "../call/call-scope.ts";
import { Failed, type Failure } from "../call/failure.ts";
import { defineOperation, type OperationFacts } from "../call/operation.ts";
import type { Redactor } from "../call/redactor.ts";
import type { Clock, Random } from "../clock.ts";
import { ExchangeApiKeyDocument, LoginPartnerDocument } from "../generated/operations.ts";
import type { Attempt } from "../request/attempt-sender.ts";
import { nextStep } from "../request/retry-policy.ts";
import { Credentials, type ExchangedToken, type Key, type RefreshEvent } from "./credentials.ts";
import { sha256 } from "./sha256.ts";
import { tokenLifetimeMs } from "./token-lifetime.ts";

/**
 * The two ways from a key to a token: the workspace's exchange (interface §5) and the partner login (beyond the
 * interface). Both are public, uncounted, and safe to repeat: a token nobody uses changes nothing. An exchange
 * belongs to no single call, so no caller's signal ends it.
 */
export interface KeyExchange {
  readonly name: "apiKey" | "partnerApiKey";
  readonly operation: OperationFacts;
  readonly variables: (key: string) => unknown;
  readonly readToken: (data: unknown) => unknown;
}

export const workspaceExchange: KeyExchange = {
  name: "apiKey",
  operation: defineOperation("ExchangeApiKey", ExchangeApiKeyDocument),
  variables: (refreshToken) => ({ refreshToken }),
  readToken: (data) => fieldOf(fieldOf(data, "exchangeSurfaceRefreshTokenForAccessTokens"), "workspaceToken"),
};

export const partnerLogin: KeyExchange = {
  name: "partnerApiKey",
  operation: defineOperation("LoginPartner", LoginPartnerDocument),
  variables: (token) => ({ token }),
  readToken: (data) => fieldOf(fieldOf(data, "loginViaPersonalApiToken"), "accessToken"),
};

/** A key, or a function that is asked for it at every exchange, so that a rotated key is picked up. */
export type ApiKeySource = string | (() => string | Promise<string>);

/** True for a key that can be sent as it is; a line end at its end is the usual accident. */
export function isWritableKey(key: string): boolean {
  return /^[\x21-\x7e]+$/.test(key);
}

export interface KeyExchangeOptions {
  readonly exchange: KeyExchange;
  readonly source: ApiKeySource;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly attempt: Attempt;
  readonly clock: Clock;
  readonly random: Random;
  readonly redactor: Redactor;
  readonly timeoutMs: number;
  readonly maxRetries: number;
  /** A refusal that asks for a longer pause fails the exchange. */
  readonly pauseMsMax: number;
  /** Ends with the client. */
  readonly life: CallScope;
  readonly onRefresh: (event: RefreshEvent) => void;
}

export function createCredentials(options: KeyExchangeOptions): Credentials {
  const { clock, random, onRefresh } = options;
  return new Credentials({
    clock,
    random,
    onRefresh,
    key: () => readKey(options),
    exchange: (key) => exchangeKey(options, key),
  });
}

async function readKey({ source, exchange, redactor }: KeyExchangeOptions): Promise<Key> {
  const value: unknown = typeof source === "function" ? await askForKey(source, exchange, redactor) : source;
  if (typeof value !== "string" || !isWritableKey(value)) {
    const message = `${exchange.name}: expected the function to give a key without spaces or line ends`;
    throw new Failed(misconfigured(message, undefined));
  }
  redactor.remember(value);
  return { value, hash: sha256(value) };
}

async function askForKey(source: () => unknown, exchange: KeyExchange, redactor: Redactor) {
  try {
    return await source();
  } catch (error) {
    const message = `${exchange.name}: the function that gives the key failed`;
    throw new Failed(misconfigured(message, redactor.cause(error)));
  }
}

async function exchangeKey(options: KeyExchangeOptions, key: Key): Promise<ExchangedToken> {
  const { exchange, url, headers, attempt, clock, random, timeoutMs, maxRetries, life } = options;
  const scope = new CallScope({ clock });
  const off = life.onEnd((failure) => scope.end(failure));
  try {
    for (let retries = 0; ; retries += 1) {
      const { operation } = exchange;
      const variables = exchange.variables(key.value);
      const sent = await attempt({ operation, variables, url, headers, timeoutMs, scope, kind: "query" });
      const token = sent.reading.ok ? exchange.readToken(sent.reading.data) : undefined;
      if (typeof token === "string" && token !== "") {
        options.redactor.remember(token);
        const serverDate = sent.answer?.headers.get("date") ?? null;
        return { token, lifetimeMs: tokenLifetimeMs(token, serverDate, clock.now()) };
      }
      const failure = sent.reading.ok ? noToken : keyFailure(sent.reading.failure, exchange);
      const state = { kind: "query", retries, maxRetries, hadFreshToken: true } as const;
      const step = nextStep(failure, { ...state, remainingMs: options.pauseMsMax }, random);
      if (step.type !== "repeat") throw new Failed({ ...failure, remedy: "none" });
      await scope.sleep(step.delayMs);
    }
  } finally {
    off();
    scope.dispose();
  }
}

// Interface §7 says only that an error is returned for a key that is wrong, revoked or expired.
function keyFailure(failure: Failure, exchange: KeyExchange): Failure {
  if (failure.code === "RATE_LIMITED") return { ...failure, remedy: "repeat", outcome: "not_sent" };
  const isRefusal = failure.code === "PERMISSION_DENIED" || failure.errors !== undefined;
  const isOther = failure.code === "DOCUMENT_INVALID" || failure.code === "SERVICE_FAILED";
  if (!isRefusal || isOther || failure.code === "SERVICE_UNAVAILABLE") {
    return { ...failure, outcome: "not_sent", message: `${exchange.name} exchange: ${failure.message}` };
  }
  return {
    code: "API_KEY_REJECTED",
    message: `the service refused ${exchange.name}: ${failure.message}`,
    outcome: "not_sent",
    remedy: "none",
    httpStatus: failure.httpStatus,
    errors: failure.errors,
  };
}

const noToken: Failure = {
  code: "RESPONSE_INVALID",
  message: "expected the exchange to give a token, got none",
  outcome: "not_sent",
  remedy: "none",
};

function misconfigured(message: string, cause: unknown): Failure {
  return { code: "CONFIGURATION_INVALID", message, outcome: "not_sent", remedy: "none", cause };
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
