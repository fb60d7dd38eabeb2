import type { Failure } from "../call/failure.ts";
import type { OperationKind } from "../call/operation.ts";
import type { Redactor } from "../call/redactor.ts";
import type { GraphQLErrorEntry, Outcome } from "../errors.ts";
import { parseRetryAfterMs } from "./retry-after.ts";
import { readServiceError } from "./service-messages.ts";
import type { Answer, AnswerHead, Reply } from "./transport.ts";

/**
 * Reads a reply: either the data, or what failed, what is known about its effect, and what might help.
 *
 * A status of 200 proves nothing: a refusal can come as HTTP 429 or 401, or as an error in a 200. A mutation whose
 * root field answered anything but null was applied, at least in part, and is never called rejected.
 */
export type Reading =
  | { readonly ok: true; readonly data: unknown }
  | { readonly ok: false; readonly failure: Failure };

export interface ReadingContext {
  readonly kind: OperationKind;
  readonly redactor: Redactor;
  readonly nowMs: number;
}

export function readReply(reply: Reply, context: ReadingContext): Reading {
  return reply.type === "answer"
    ? readAnswer(reply.answer, context)
    : { ok: false, failure: readFailedReply(reply, context) };
}

function readFailedReply(reply: Exclude<Reply, { type: "answer" }>, context: ReadingContext): Failure {
  const cause = context.redactor.cause(reply.type === "too_large" ? undefined : reply.cause);
  if (reply.type === "unsendable") {
    const message = "expected variables that can be written as JSON";
    return { code: "ARGUMENT_INVALID", message, outcome: "not_sent", remedy: "none", cause };
  }
  if (reply.type === "too_large") {
    const { status } = reply.answer;
    const message = "the answer is larger than responseBytesMax";
    return { code: "RESPONSE_INVALID", message, outcome: "unknown", remedy: "none", httpStatus: status };
  }
  const connected = reply.answer !== undefined || !neverConnected(reply.cause);
  const what = reply.answer
    ? "the connection was cut inside the answer"
    : connected
      ? "the connection was lost"
      : "the service could not be reached";
  const code = systemCode(reply.cause);
  const message = code === undefined ? what : `${what} (${code})`;
  const outcome: Outcome = connected ? "unknown" : "not_sent";
  return { code: "NETWORK_FAILED", message, outcome, remedy: "repeat", cause };
}

function readAnswer(answer: Answer, context: ReadingContext): Reading {
  const errors = readErrors(answer.errors, context.redactor);
  const failure = failureOf(answer, errors, context);
  if (!failure) return { ok: true, data: answer.data };
  const partial = appliedInPart(answer.data);
  const applied = partial && context.kind === "mutation";
  return {
    ok: false,
    failure: {
      ...failure,
      httpStatus: answer.status,
      ...(errors.length > 0 ? { errors } : {}),
      ...(partial ? { data: answer.data } : {}),
      ...(applied ? { outcome: "unknown", remedy: "none" } : {}),
    },
  };
}

function failureOf(
  answer: Answer,
  errors: readonly GraphQLErrorEntry[],
  context: ReadingContext,
): Failure | undefined {
  const { status } = answer;
  if (status === 429 || errors.some((error) => error.code === "RATE_LIMITED")) {
    return rateLimited(answer, context.nowMs);
  }
  if (errors.some((error) => error.code === "FORBIDDEN")) return denied(errors, "none");
  if (status === 401 || errors.some(isUnauthorized)) return denied(errors, "fresh_token");
  if (status === 403) return denied(errors, "none");
  if (status >= 500 || status === 408) return unavailable(answer, errors, context.nowMs);
  if (errors.length > 0) return serviceError(errors);
  if (status >= 400) return refused(status);
  if (status >= 300) return redirected(answer);
  if (!answer.isGraphQL || !isRecord(answer.data)) return notGraphQL(answer);
  // Public documentation of the service shows an unauthenticated `me` as null without an error.
  if (answer.data["me"] === null) return denied(errors, "fresh_token");
  return undefined;
}

function rateLimited(answer: Answer, nowMs: number): Failure {
  return {
    code: "RATE_LIMITED",
    message: "the key's allowance is used up",
    outcome: "rejected",
    remedy: "wait_for_rate_limit",
    retryAfterMs: parseRetryAfterMs(answer.headers, nowMs),
  };
}

function denied(errors: readonly GraphQLErrorEntry[], remedy: "none" | "fresh_token"): Failure {
  const message = errors[0]?.message ?? "the service did not accept the token";
  return { code: "PERMISSION_DENIED", message, outcome: "rejected", remedy };
}

function unavailable(answer: Answer, errors: readonly GraphQLErrorEntry[], nowMs: number): Failure {
  const first = errors[0];
  const detail = first ? `: ${first.message}` : "";
  return {
    code: "SERVICE_UNAVAILABLE",
    message: `the service answered HTTP ${answer.status}${detail}`,
    outcome: "unknown",
    remedy: "repeat",
    retryAfterMs: parseRetryAfterMs(answer.headers, nowMs),
  };
}

function serviceError(errors: readonly GraphQLErrorEntry[]): Failure {
  const verdicts = errors.map((error) => readServiceError(error.message, error.code));
  const index = Math.max(
    0,
    verdicts.findIndex((verdict) => verdict !== undefined),
  );
  const verdict = verdicts[index];
  const outcome = verdicts.every((each) => each?.outcome === "rejected") ? "rejected" : "unknown";
  const message = errors[index]?.message ?? "";
  return { code: verdict?.code ?? "GRAPHQL_ERROR", message, outcome, remedy: "none" };
}

function refused(status: number): Failure {
  const message = `the service refused the request with HTTP ${status}`;
  return { code: "HTTP_REQUEST_REJECTED", message, outcome: "rejected", remedy: "none" };
}

function redirected({ status }: AnswerHead): Failure {
  // 307 and 308 mean "send it there instead"; after the others a POST may have been carried out.
  const outcome: Outcome = status === 307 || status === 308 ? "rejected" : "unknown";
  const message = `expected an answer, got a redirect (HTTP ${status}); check baseUrl and gatewayUrl`;
  return { code: "RESPONSE_INVALID", message, outcome, remedy: "none" };
}

function notGraphQL({ status, headers }: AnswerHead): Failure {
  const label = /^[a-z]+\/[a-z0-9.+-]{1,60}/.exec(headers.get("content-type") ?? "")?.[0];
  const got = label === undefined || label.endsWith("json") ? "something else" : label;
  const message = `expected a GraphQL answer with data, got ${got} (HTTP ${status}); check baseUrl and gatewayUrl`;
  return { code: "RESPONSE_INVALID", message, outcome: "unknown", remedy: "none" };
}

function isUnauthorized(error: GraphQLErrorEntry): boolean {
  return error.code === "UNAUTHENTICATED" || /^unauthorized\.?$/i.test(error.message.trim());
}

const messageLengthMax = 300;
const redactedLengthMax = 10_000;
const errorsMax = 100;

function readErrors(errors: unknown, redactor: Redactor): readonly GraphQLErrorEntry[] {
  if (errors === undefined || errors === null) return [];
  const entries: readonly unknown[] = Array.isArray(errors) ? errors : [errors];
  return entries.slice(0, errorsMax).map((entry) => readEntry(entry, redactor));
}

function readEntry(entry: unknown, redactor: Redactor): GraphQLErrorEntry {
  const { message, path, extensions } = isRecord(entry) ? entry : {};
  const text = typeof message === "string" ? boundedText(message, redactor) : "";
  const code = isRecord(extensions) ? extensions["code"] : undefined;
  return {
    message: text === "" ? "the service gave no message" : text,
    ...(Array.isArray(path) ? { path: readPath(path, redactor) } : {}),
    ...(typeof code === "string" ? { code: boundedText(code, redactor) } : {}),
  };
}

function readPath(path: readonly unknown[], redactor: Redactor): readonly (string | number)[] {
  return path
    .filter(isPathSegment)
    .map((segment) => (typeof segment === "string" ? boundedText(segment, redactor) : segment));
}

// Redacted before it is cut: half of a secret is not recognised any more.
function boundedText(value: string, redactor: Redactor): string {
  return redactor.text(value.slice(0, redactedLengthMax)).slice(0, messageLengthMax);
}

function isPathSegment(value: unknown): value is string | number {
  return typeof value === "string" || typeof value === "number";
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function appliedInPart(data: unknown): boolean {
  return isRecord(data) && Object.values(data).some((field) => field !== null);
}

const neverConnectedCodes = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "CERT_HAS_EXPIRED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/** True when the error proves that no byte of the request left; with several addresses, that none took it. */
function neverConnected(error: unknown, depth = 0): boolean {
  if (!(error instanceof Error) || depth > 5) return false;
  if (error instanceof AggregateError) {
    return error.errors.length > 0 && error.errors.every((each) => neverConnected(each, depth + 1));
  }
  const code: unknown = Reflect.get(error, "code");
  if (typeof code === "string" && neverConnectedCodes.has(code)) return true;
  return neverConnected(error.cause, depth + 1);
}

/** The code of the platform, such as `ECONNREFUSED`: the word one searches for. */
function systemCode(error: unknown, depth = 0): string | undefined {
  if (!(error instanceof Error) || depth > 5) return undefined;
  const code: unknown = Reflect.get(error, "code");
  if (typeof code === "string" && /^[A-Z][A-Z0-9_]{2,60}$/.test(code)) return code;
  const next: unknown = error instanceof AggregateError ? error.errors[0] : error.cause;
  return systemCode(next, depth + 1);
}
