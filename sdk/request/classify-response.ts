// Whether a response is a failure: what went wrong, what is known about its effect, and what might help.
//
// A status of 200 proves nothing: a rejection can be an HTTP 429 or 401, or an error in a 200. A mutation with a root
// field that is not null was applied, at least in part, and is never called rejected.

import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { type Failure, failure } from "../call/failure.ts";
import type { OperationKind } from "../call/operation.ts";
import type { Redactor } from "../call/redactor.ts";
import type { ErrorCode, GraphQLErrorEntry, Outcome } from "../errors.ts";
import type { ResponseHead } from "./fetch.ts";
import { readExtensions, readResponseDetails } from "./response-details.ts";
import { parseRetryAfterMs } from "./retry-after.ts";

export interface GraphQLResponse extends ResponseHead {
  /** False when the body was not JSON, or JSON without `data` and `errors`. */
  readonly isGraphQL: boolean;
  /** The body begins as JSON and is none: most likely it was cut. */
  readonly isTruncated: boolean;
  readonly data: unknown;
}

export interface ClassificationContext {
  readonly kind: OperationKind;
  readonly redactor: Redactor;
  /** Where the request was sent to. */
  readonly url: URL;
  readonly nowMs: number;
}

/** What a response says that has no usable data. */
export function failureIn(response: GraphQLResponse, context: ClassificationContext): Failure | undefined {
  const { kind, redactor } = context;
  const errors = readErrors(response.errors, redactor);
  const found = failureOf(response, errors, context);
  if (!found) return undefined;
  const isPartial = hasData(response.data);
  return {
    ...found,
    ...detailsOf(response, redactor),
    errors: errors.length > 0 ? errors : undefined,
    data: isPartial ? response.data : undefined,
    ...(isPartial && kind === "mutation" && { outcome: "unknown", remedy: "none" }),
  };
}

export function detailsOf(response: ResponseHead, redactor: Redactor) {
  return { httpStatus: response.status, ...readResponseDetails(response, redactor) };
}

function failureOf(
  response: GraphQLResponse,
  errors: readonly GraphQLErrorEntry[],
  { kind, url, nowMs }: ClassificationContext,
): Failure | undefined {
  const { status } = response;
  const isService = errors.length > 0;
  if (status === 429 || errors.some((error) => error.code === "RATE_LIMITED")) {
    return rateLimited(response, nowMs);
  }
  if (errors.some((error) => error.code === "FORBIDDEN")) return denied(errors, "none");
  if (errors.some((error) => error.code === "UNAUTHENTICATED")) return tokenRejected(errors);
  if (status === 401 && !isService && isPage(response)) {
    return { ...requestRejected(response, url), remedy: "fresh_token" };
  }
  if (errors.some(isUnauthorized)) return denied(errors, "fresh_token");
  if (status === 401) return tokenRejected(errors);
  if (status === 403 && isService) return denied(errors, "none");
  if (status >= 500 || status === 408) return unavailable(response, errors, nowMs);
  if (errors.length > 0) return serviceError(errors);
  if (status >= 400) return requestRejected(response, url);
  if (status >= 300) return redirected(status);
  if (!response.isGraphQL || !isPlainObject(response.data)) return notGraphQL(response);
  // Public documentation of the service shows an unauthenticated `me` as null without an error. A field of a mutation
  // may have the same alias.
  if (kind === "query" && response.data["me"] === null) return tokenRejected(errors);
  return undefined;
}

function rateLimited({ headers }: ResponseHead, nowMs: number): Failure {
  const retryAfterMs = parseRetryAfterMs(headers, nowMs);
  return failure("RATE_LIMITED", `the service accepts no more requests of the key${pauseOf(retryAfterMs)}`, {
    outcome: "rejected",
    remedy: "wait_for_rate_limit",
    retryAfterMs,
  });
}

/** With the remedy of a fresh token it may be the token that is not accepted. */
function denied(errors: readonly GraphQLErrorEntry[], remedy: "none" | "fresh_token"): Failure {
  const message = errors[0]?.message ?? "the service sent no message";
  return failure("PERMISSION_DENIED", message, { outcome: "rejected", remedy });
}

function tokenRejected(errors: readonly GraphQLErrorEntry[]): Failure {
  const detail = errors[0] ? `: ${errors[0].message}` : "";
  const message = `the service did not accept the token${detail}`;
  return failure("TOKEN_REJECTED", message, { outcome: "rejected", remedy: "fresh_token" });
}

function unavailable(
  { status, headers }: ResponseHead,
  errors: readonly GraphQLErrorEntry[],
  nowMs: number,
): Failure {
  const detail = errors[0] ? `: ${errors[0].message}` : "";
  const retryAfterMs = parseRetryAfterMs(headers, nowMs);
  const message = `the service responded with HTTP ${status}${pauseOf(retryAfterMs)}${detail}`;
  return failure("SERVICE_UNAVAILABLE", message, {
    outcome: "unknown",
    remedy: "repeat",
    retryAfterMs,
  });
}

function pauseOf(retryAfterMs: number | undefined): string {
  return retryAfterMs === undefined ? "" : ` and asks to wait ${Math.ceil(retryAfterMs / 1_000)} s`;
}

function serviceError(errors: readonly GraphQLErrorEntry[]): Failure {
  const recognised = errors.map((error) => readServiceError(error.message, error.code));
  const index = Math.max(0, recognised.findIndex(Boolean));
  const isRejected = recognised.every((each) => each?.outcome === "rejected");
  return failure(recognised[index]?.code ?? "GRAPHQL_ERROR", errors[index]?.message ?? "", {
    outcome: isRejected ? "rejected" : "unknown",
  });
}

function requestRejected(response: GraphQLResponse, { host, pathname }: URL): Failure {
  const { status } = response;
  if (status === 404) {
    const message = `nothing is at ${host}${pathname} (HTTP 404); check baseUrl and gatewayUrl`;
    return failure("HTTP_REQUEST_REJECTED", message, { outcome: "rejected" });
  }
  const message = isPage(response)
    ? `a proxy or firewall in front of ${host} rejected the request with HTTP ${status} (${contentType(response)})`
    : `the service, or a proxy in front of it, rejected the request with HTTP ${status}`;
  return failure("HTTP_REQUEST_REJECTED", message, { outcome: "rejected" });
}

function redirected(status: number): Failure {
  const isRedirect = [301, 302, 303, 307, 308].includes(status);
  const got = isRedirect ? `a redirect (HTTP ${status}); check baseUrl and gatewayUrl` : `HTTP ${status}`;
  // 307 and 308 mean "send it there instead"; after the others a POST may have been processed.
  const outcome = status === 307 || status === 308 ? "rejected" : "unknown";
  return failure("RESPONSE_INVALID", `expected a response, got ${got}`, { outcome });
}

function notGraphQL(response: GraphQLResponse): Failure {
  const { status, isTruncated } = response;
  if (isTruncated) {
    const message = `the response ends inside its JSON text (HTTP ${status})`;
    return failure("RESPONSE_INVALID", message, { outcome: "unknown", remedy: "repeat" });
  }
  const label = contentType(response);
  const got = label === undefined || label.endsWith("json") ? "something else" : label;
  const message = `expected a GraphQL response with data, got ${got} (HTTP ${status}); check baseUrl and gatewayUrl`;
  return failure("RESPONSE_INVALID", message, { outcome: "unknown" });
}

function contentType({ headers }: ResponseHead): string | undefined {
  return /^[a-z]+\/[a-z0-9.+-]{1,60}/.exec(headers.get("content-type")?.toLowerCase() ?? "")?.[0];
}

/** A page for people: the service itself never sends one. */
function isPage(response: GraphQLResponse): boolean {
  return !response.isGraphQL && contentType(response) === "text/html";
}

// A code says more than the message: the platform's rejection, passed on with a code of its own, may read "Unauthorized".
function isUnauthorized({ code, message }: GraphQLErrorEntry): boolean {
  return code === undefined && /^unauthorized\.?$/i.test(message.trim());
}

const messageLengthMax = 300;
const errorsMax = 100;
const segmentsMax = 100;

function readErrors(errors: unknown, redactor: Redactor): readonly GraphQLErrorEntry[] {
  if (errors === undefined || errors === null) return [];
  const entries: readonly unknown[] = Array.isArray(errors) ? errors : [errors];
  return entries.slice(0, errorsMax).map((entry) => readEntry(entry, redactor));
}

function readEntry(entry: unknown, redactor: Redactor): GraphQLErrorEntry {
  const { message, path, extensions } = isPlainObject(entry) ? entry : {};
  const text = typeof message === "string" ? redactor.text(message, messageLengthMax) : "";
  const code = isPlainObject(extensions) ? extensions["code"] : undefined;
  return {
    message: text === "" ? "the service sent no message" : text,
    path: Array.isArray(path) ? readPath(path, redactor) : undefined,
    code: typeof code === "string" ? redactor.text(code, messageLengthMax) : undefined,
    extensions: isPlainObject(extensions) ? readExtensions(extensions, redactor) : undefined,
  };
}

function readPath(path: readonly unknown[], redactor: Redactor): readonly (string | number)[] {
  return path
    .slice(0, segmentsMax)
    .filter((segment) => typeof segment === "string" || typeof segment === "number")
    .map((segment) => (typeof segment === "string" ? redactor.text(segment, messageLengthMax) : segment));
}

function hasData(data: unknown): boolean {
  return isPlainObject(data) && Object.values(data).some((field) => field !== null);
}

interface ServiceError {
  readonly code: ErrorCode;
  readonly outcome: Outcome;
}

// Interface §7 and, for the url and the iterator, A-6 and A-8. Compared as prefixes: a service that adds the offending
// name to the message has not changed its meaning.
const messages: readonly (readonly [prefix: string, code: ErrorCode])[] = [
  ["unsupported webhook event type", "WEBHOOK_EVENT_TYPE_UNSUPPORTED"],
  ["at least one webhook event type is required", "WEBHOOK_EVENT_TYPE_REQUIRED"],
  ["at least one endpoint field must be updated", "WEBHOOK_ENDPOINT_FIELD_REQUIRED"],
  ["webhook endpoint limit must be between", "WEBHOOK_ENDPOINT_LIMIT_OUT_OF_RANGE"],
  ["secret grace period must be between", "SECRET_GRACE_PERIOD_OUT_OF_RANGE"],
  ["webhook endpoint url must be", "WEBHOOK_ENDPOINT_URL_INVALID"],
  ["invalid iterator", "ITERATOR_INVALID"],
];

const extensionCodes = new Map<string, ErrorCode>([
  ["FORBIDDEN", "PERMISSION_DENIED"],
  ["UNAUTHENTICATED", "TOKEN_REJECTED"],
  ["RATE_LIMITED", "RATE_LIMITED"],
  ["NOT_FOUND", "NOT_FOUND"],
  ["CONFLICT", "CONFLICT"],
  ["BAD_USER_INPUT", "INPUT_INVALID"],
  ["GRAPHQL_VALIDATION_FAILED", "DOCUMENT_INVALID"],
  ["GRAPHQL_PARSE_FAILED", "DOCUMENT_INVALID"],
]);

// With these codes, which say little, and without a code the message decides. Any other code says what happened: the
// platform's rejection that the service passes on may use the same words.
const vagueCodes: ReadonlySet<string | undefined> = new Set([
  undefined,
  "BAD_USER_INPUT",
  "INTERNAL_SERVER_ERROR",
]);

/** What an entry of `errors` means; undefined when neither its code nor its message is recognised. */
function readServiceError(message: string, code: string | undefined): ServiceError | undefined {
  const text = message.trim().toLowerCase();
  const [, byMessage] = messages.find(([prefix]) => text.startsWith(prefix)) ?? [];
  if (byMessage && vagueCodes.has(code)) return { code: byMessage, outcome: "rejected" };
  // A resolver that failed half-way returns this, so its effect is unknown.
  if (code === "INTERNAL_SERVER_ERROR") return { code: "SERVICE_FAILED", outcome: "unknown" };
  const byCode = code === undefined ? undefined : extensionCodes.get(code);
  if (byCode) return { code: byCode, outcome: "rejected" };
  // Interface §7 says "not found" of partner operations without showing message or code.
  return code === undefined && /\bnot found\b/.test(text)
    ? { code: "NOT_FOUND", outcome: "rejected" }
    : undefined;
}
