import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import type { CallScope } from "../call/call-scope.ts";
import { type Failure, FailureError, failure } from "../call/failure.ts";
import type { OperationKind } from "../call/operation.ts";
import type { Redactor } from "../call/redactor.ts";
import { type Classification, classifyResponse } from "./classify-response.ts";
import type { Fetch, ResponseHead } from "./fetch.ts";
import { RoundTrip, type SendRequest } from "./transport.ts";

/** Sends one request and classifies the response; ended by `timeoutMs` or by the call's scope. */
export type SendAttempt = (request: AttemptRequest) => Promise<AttemptResult>;

export interface AttemptRequest extends Omit<SendRequest, "fetch" | "maxResponseBytes" | "onHeaders"> {
  readonly timeoutMs: number;
  readonly scope: CallScope;
  /** Which rules classify the response. The token exchange is a mutation, classified as a query: it is safe to repeat. */
  readonly kind: OperationKind;
  /** Called with the response's data before it is classified: secrets in it are remembered, and so not printed. */
  readonly onData?: ((data: unknown) => void) | undefined;
}

export interface AttemptResult {
  readonly classification: Classification;
  /** False when the request certainly was not sent. */
  readonly sent: boolean;
  readonly response: ResponseHead | undefined;
  /** When the response headers arrived; monotonic. */
  readonly respondedAtMs: number | undefined;
}

export interface AttemptSenderOptions {
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly maxResponseBytes: number;
}

export function createAttemptSender(options: AttemptSenderOptions): SendAttempt {
  const { fetch, clock, redactor, maxResponseBytes } = options;
  return async ({ operation, variables, url, headers, token, timeoutMs, scope, kind, onData }) => {
    if (scope.failure) return withoutResponse(scope.failure, false);
    const attemptScope = scope.child({ limitMs: timeoutMs, onLimit: (ms) => timedOut(url, ms) });
    let respondedAtMs: number | undefined;
    const onHeaders = () => {
      respondedAtMs = clock.monotonic();
    };
    try {
      const request = { operation, variables, url, headers, token, fetch, maxResponseBytes, onHeaders };
      const trip = new RoundTrip(request);
      attemptScope.onEnd(() => trip.abort());
      const result = await attemptScope.race(trip.result);
      if (result.type === "response") onData?.(result.response.data);
      const classification = classifyResponse(result, { kind, redactor, url, nowMs: clock.now() });
      const response = "response" in result ? result.response : undefined;
      return { classification, sent: result.type !== "unsendable", response, respondedAtMs };
    } catch (error) {
      const failed = error instanceof FailureError ? error.failure : unreadable(redactor.cause(error));
      // The request was in flight, so its effect is unknown.
      return { ...withoutResponse({ ...failed, outcome: "unknown" }, true), respondedAtMs };
    } finally {
      attemptScope.dispose();
    }
  };
}

// A response of the caller's `fetch` can be any object.
function unreadable(cause: unknown): Failure {
  return failure("RESPONSE_INVALID", "the response of the option fetch cannot be read", { cause });
}

function withoutResponse(failure: Failure, sent: boolean): AttemptResult {
  return { classification: { ok: false, failure }, sent, response: undefined, respondedAtMs: undefined };
}

function timedOut({ host }: URL, limitMs: number): Failure {
  const message = `the request to ${host} took longer than timeoutMs (${limitMs})`;
  return failure("REQUEST_TIMEOUT", message, { outcome: "unknown", remedy: "repeat" });
}
