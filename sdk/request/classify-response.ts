// Whether a response is a failure: what went wrong, what is known about its effect, and what might help.
//
// A status of 200 proves nothing: a rejection can be an HTTP 429 or 401, or an error in a 200. A mutation with a root
// field that is not null was applied, at least in part, and is never called rejected.

import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { isError } from "@workspace-tasks/kernel/realm.ts";
import { type Failure, failure } from "../call/failure.ts";
import type { OperationKind } from "../call/operation.ts";
import type { Redactor } from "../call/redactor.ts";
import type { ErrorCode, GraphQLErrorEntry, Outcome } from "../errors.ts";
import type { ResponseHead } from "./fetch.ts";

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

/** @param remedy a fresh token, where it may be the token that is not accepted */
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

const extensionCodes = new Map<string | undefined, ErrorCode>([
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
  const byMessage = messages.find(([prefix]) => text.startsWith(prefix))?.[1];
  if (byMessage && vagueCodes.has(code)) return { code: byMessage, outcome: "rejected" };
  // A resolver that failed half-way returns this, so its effect is unknown.
  if (code === "INTERNAL_SERVER_ERROR") return { code: "SERVICE_FAILED", outcome: "unknown" };
  const byCode = extensionCodes.get(code);
  if (byCode) return { code: byCode, outcome: "rejected" };
  // Interface §7 says "not found" of partner operations without showing message or code.
  return code === undefined && /\bnot found\b/.test(text)
    ? { code: "NOT_FOUND", outcome: "rejected" }
    : undefined;
}

// What a response says besides its data, as a caller may print it: redacted, and limited in size.

export interface ResponseDetails {
  /** The service's name for the request: a header such as `x-request-id`, or `extensions.requestId`. */
  readonly requestId: string | undefined;
  /** Response headers by lower-case name, without cookies. */
  readonly headers: Readonly<Record<string, string>>;
  /** `extensions` of the GraphQL response. */
  readonly extensions: Readonly<Record<string, unknown>> | undefined;
}

const requestIdHeaders = ["x-request-id", "request-id", "x-correlation-id", "x-amzn-requestid"];
const requestIdFields = ["requestId", "request_id"];
const entriesMax = 100;
const valuesMax = 1_000;
const depthMax = 6;

export function readResponseDetails(response: ResponseHead, redactor: Redactor): ResponseDetails {
  const { extensions } = response;
  return {
    requestId: requestIdOf(response, redactor),
    headers: readHeaders(response.headers, redactor),
    extensions: isPlainObject(extensions) ? readExtensions(extensions, redactor) : undefined,
  };
}

/** Found without a copy of the other details: events have it too. */
export function requestIdOf(
  { headers, extensions, errors }: ResponseHead,
  redactor: Redactor,
): string | undefined {
  for (const name of requestIdHeaders) {
    const value = headers.get(name);
    if (value) return redactor.text(value);
  }
  const error: unknown = Array.isArray(errors) ? errors[0] : undefined;
  for (const source of [extensions, isPlainObject(error) ? error["extensions"] : undefined]) {
    const value = isPlainObject(source) && requestIdFields.map((name) => source[name]).find(isFilledText);
    if (value) return redactor.text(value);
  }
  return undefined;
}

export function readHeaders(headers: Headers, redactor: Redactor): Readonly<Record<string, string>> {
  const all: [name: string, value: string][] = [];
  headers.forEach((value, name) => {
    if (all.length >= entriesMax || /^set-cookie2?$/i.test(name)) return;
    all.push([name, redactor.text(value)]);
  });
  return Object.fromEntries(all);
}

/** A copy of the first values of `extensions`, of a response or of one of its errors. */
function readExtensions(
  extensions: Readonly<Record<string, unknown>>,
  redactor: Redactor,
): Readonly<Record<string, unknown>> {
  let valuesLeft = valuesMax;
  const copy = (value: unknown, depth: number): unknown => {
    if (typeof value === "string") return redactor.text(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth >= depthMax) return undefined;
    const entries: [name: string, value: unknown][] = [];
    for (const [name, field] of Object.entries(value).slice(0, entriesMax)) {
      if (valuesLeft-- > 0) entries.push([redactor.text(name), copy(field, depth + 1)]);
    }
    return Array.isArray(value) ? entries.map(([, each]) => each) : Object.fromEntries(entries);
  };
  return copy(extensions, 0) as Readonly<Record<string, unknown>>;
}

function isFilledText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

const seconds = /^\d+$/;

/**
 * How long a `Retry-After` header asks to wait, in milliseconds; undefined without a usable header.
 *
 * A date is compared with the response's own `Date` header if there is one, because the two clocks may differ. Anything
 * but whole seconds or an HTTP date is ignored: a lenient parser makes `1 Jan` one second.
 */
export function parseRetryAfterMs(headers: Headers, nowMs: number): number | undefined {
  const value = headers.get("retry-after") ?? "";
  if (seconds.test(value)) return Math.min(Number(value) * 1_000, Number.MAX_SAFE_INTEGER);
  const date = parseHttpDateMs(value);
  if (date === undefined) return undefined;
  const serverNowMs = parseHttpDateMs(headers.get("date") ?? "") ?? nowMs;
  return Math.max(0, date - serverNowMs);
}

// RFC 9110 §5.6.7: the one date format that senders may generate.
const httpDate =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d{2}:\d{2}:\d{2} GMT$/;

function parseHttpDateMs(value: string): number | undefined {
  if (!httpDate.test(value)) return undefined;
  const parsed = Date.parse(value);
  return Number.isNaN(parsed) ? undefined : parsed;
}

// What an error of `fetch` says: whether a byte of the request can have left, and why there is no response.

interface NetworkContext {
  readonly redactor: Redactor;
  readonly host: string;
}

/** @param got what the option `fetch` returned */
export function notResponse(got: string, cause?: unknown): Failure {
  const message = `expected the option fetch to return a Response, got ${got}`;
  return failure("RESPONSE_INVALID", message, { outcome: "unknown", cause });
}

/** @param hasResponse the headers of a response had arrived */
export function networkFailure(error: unknown, hasResponse: boolean, context: NetworkContext): Failure {
  const { redactor, host } = context;
  const errors = chainOf(error);
  const found = codeOf(errors);
  const code = found && redactor.text(found);
  const cause = redactor.cause(error);
  // The cause itself has the code, also when the error of `fetch` only wraps the one with a code.
  if (code !== undefined && cause instanceof Error && !("code" in cause)) Object.assign(cause, { code });
  const named = (message: string) => (code === undefined ? message : `${message} (${code})`);
  const isUnsent = !hasResponse && neverSent(error);
  const details = { outcome: isUnsent ? "not_sent" : "unknown", remedy: "repeat", cause } as const;
  const defaultRemedy = "digest" in Object(cause) ? "none" : "repeat";
  const lost = (message: string, remedy: Failure["remedy"] = defaultRemedy) =>
    failure("NETWORK_FAILED", message, { ...details, remedy });
  if (damagedCodes.test(code ?? "")) {
    const message = named(`the compressed response of ${host} is damaged or incomplete`);
    return failure("RESPONSE_INVALID", message, details);
  }
  if (hasResponse) return lost(named(`${host} cut the connection inside the response`));
  const argument = errors.find(isArgumentError);
  if (argument) return argumentRejected(redactor.text(argument.message), cause);
  const [fault] = errors;
  if (fault && isProgramError(fault))
    return notResponse(redactor.text(`a ${fault.name} (${fault.message})`), cause);
  const [refused] = errors.flatMap(({ message }) => refusedBeforeSending.exec(message)?.[0] ?? []);
  if (refused === "bad port") {
    return lost(
      `fetch sends nothing to the port of ${host}: the port is reserved for another protocol`,
      "none",
    );
  }
  if (refused !== undefined) return lost(`no connection to ${host}: ${refused}`);
  // The next attempt would get the same certificate, or none.
  if (code === noTlsCode) return lost(`${host} speaks no TLS on this port (${code})`, "none");
  if (certificateCodes.test(code ?? "")) {
    return lost(`the TLS certificate of ${host} is not accepted (${code})`, "none");
  }
  return lost(named(isUnsent ? `${host} could not be reached` : `the connection to ${host} was lost`));
}

function argumentRejected(detail: string, cause: unknown): Failure {
  const message = `fetch does not take what it is given (${detail}); check the option fetch, and that its dispatcher or agent is of the same package`;
  return failure("CONFIGURATION_INVALID", message, { cause });
}

// The codes of zlib and Brotli.
const damagedCodes = /^(?:Z_|ERR__ERROR_FORMAT_)/;

const noTlsCode = "ERR_SSL_WRONG_VERSION_NUMBER";
const certificateCodes = /^(?:CERT|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_TLS_CERT)_/;

const neverConnectedCodes =
  /^(?:ERR_SSL_WRONG_VERSION_NUMBER|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

// Calls of the system that come before the first byte of a request.
const connectingCalls = new Set(["connect", "getaddrinfo"]);

// Two errors of undici without a code: a port that the fetch standard blocks, and a proxy that opens no tunnel.
const refusedBeforeSending = /^(?:bad port$|Proxy response \(\d{3}\))/;

// How fetch says that it does not take its arguments, in Node and in browsers: it checks them before it sends anything.
const argumentMessages =
  /^(?:(?:Window\.)?fetch|(?:Request|Headers)(?:Init)?)\b[^:]*: |^Failed to (?:construct '|parse URL|execute 'fetch')/;

// What engines say of a mistake in a program. A TypeError alone says nothing: browsers throw it for a lost connection.
const mistakeMessages =
  /is not (?:a function|a constructor|defined|iterable)|^Cannot (?:read|set|access|destructure)|^(?:undefined|null) is not|can't access/;

function isArgumentError(error: Error): boolean {
  const isTypeError = error.name === "TypeError" && argumentMessages.test(error.message);
  return isTypeError || Reflect.get(error, "code") === "UND_ERR_INVALID_ARG";
}

function isProgramError({ name, message }: Error): boolean {
  if (name === "ReferenceError" || name === "SyntaxError" || name === "RangeError") return true;
  return name === "TypeError" && mistakeMessages.test(message);
}

/** True when the error proves that no byte of the request was sent, to any of the host's addresses. */
function neverSent(error: unknown, depth = 0): boolean {
  if (!isError(error) || depth > nestingMax) return false;
  const { code, syscall, errors } = error as { code?: unknown; syscall?: unknown; errors?: unknown };
  if (Array.isArray(errors)) {
    return errors.length > 0 && errors.every((each) => neverSent(each, depth + 1));
  }
  if (typeof code === "string" && (neverConnectedCodes.test(code) || certificateCodes.test(code)))
    return true;
  if (typeof syscall === "string" && connectingCalls.has(syscall)) return true;
  return refusedBeforeSending.test(error.message) || neverSent(error.cause, depth + 1);
}

const nestingMax = 5;

/** The error, its cause or the first of its errors, the cause of that, and so on. */
function chainOf(error: unknown, depth = 0): readonly Error[] {
  if (!isError(error) || depth > nestingMax) return [];
  const { errors } = error as { errors?: unknown };
  return [error, ...chainOf(Array.isArray(errors) ? errors[0] : error.cause, depth + 1)];
}

/** The platform's error code, such as `ECONNREFUSED`. */
function codeOf(errors: readonly Error[]): string | undefined {
  const codes = errors.map((each): unknown => Reflect.get(each, "code"));
  return codes.find(
    (code): code is string => typeof code === "string" && /^[A-Z][A-Z0-9_]{2,60}$/.test(code),
  );
}
