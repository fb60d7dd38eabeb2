// What an error of `fetch` says: whether a byte of the request can have left, and why there is no response.

import { isError } from "@workspace-tasks/kernel/realm.ts";
import { type Failure, failure } from "../call/failure.ts";
import type { Redactor } from "../call/redactor.ts";

export interface NetworkContext {
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
  const lost = (message: string, remedy: Failure["remedy"] = "repeat") =>
    failure("NETWORK_FAILED", message, { ...details, remedy });
  if (code !== undefined && damagedCodes.test(code)) {
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
  if (code !== undefined && certificateCodes.test(code)) {
    return lost(`the TLS certificate of ${host} is not accepted (${code})`, "none");
  }
  return lost(named(isUnsent ? `${host} could not be reached` : `the connection to ${host} was lost`));
}

function argumentRejected(detail: string, cause: unknown): Failure {
  const message = `fetch does not take what it is given (${detail}); check the option fetch, and that its dispatcher or agent is of the same package`;
  return failure("CONFIGURATION_INVALID", message, { cause });
}

// Of zlib and Brotli.
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
  /^(?:(?:Window\.)?fetch|Request(?:Init| constructor)?|Headers(?:Init|\.\w+)?)\b[^:]*: |^Failed to (?:construct '|parse URL|execute 'fetch')/;

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
  if (!isError(error) || depth > depthMax) return false;
  const { code, syscall, errors } = error as { code?: unknown; syscall?: unknown; errors?: unknown };
  if (Array.isArray(errors)) {
    return errors.length > 0 && errors.every((each) => neverSent(each, depth + 1));
  }
  if (typeof code === "string" && (neverConnectedCodes.test(code) || certificateCodes.test(code)))
    return true;
  if (typeof syscall === "string" && connectingCalls.has(syscall)) return true;
  return refusedBeforeSending.test(error.message) || neverSent(error.cause, depth + 1);
}

const depthMax = 5;

/** The error, its cause or the first of its errors, the cause of that, and so on. */
function chainOf(error: unknown, depth = 0): readonly Error[] {
  if (!isError(error) || depth > depthMax) return [];
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
