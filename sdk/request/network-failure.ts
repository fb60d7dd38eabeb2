// What an error of `fetch` says: whether a byte of the request can have left, and why there is no response.

import { type Failure, failure } from "../call/failure.ts";
import type { Redactor } from "../call/redactor.ts";

export interface NetworkContext {
  readonly redactor: Redactor;
  readonly host: string;
}

/** @param got what the option `fetch` returned */
export function notResponse(got: string): Failure {
  const message = `expected the option fetch to return a Response, got ${got}`;
  return failure("RESPONSE_INVALID", message, { outcome: "unknown" });
}

/** @param hasResponse the headers of a response had arrived */
export function networkFailure(error: unknown, hasResponse: boolean, context: NetworkContext): Failure {
  const { redactor, host } = context;
  const found = systemCode(error);
  const code = found && redactor.text(found);
  const cause = redactor.cause(error);
  // The cause itself has the code, also when the error of `fetch` only wraps the one with a code.
  if (code !== undefined && cause instanceof Error && !("code" in cause)) Object.assign(cause, { code });
  const wasSent = hasResponse || !neverSent(error);
  const outcome = wasSent ? "unknown" : "not_sent";
  const named = (message: string) => (code === undefined ? message : `${message} (${code})`);
  const details = { outcome, remedy: "repeat", cause } as const;
  if (code !== undefined && damagedCodes.test(code)) {
    const message = named(`the compressed response of ${host} is damaged or incomplete`);
    return failure("RESPONSE_INVALID", message, details);
  }
  if (hasResponse)
    return failure("NETWORK_FAILED", named(`${host} cut the connection inside the response`), details);
  const [refused] = textsOf(error).flatMap((text) => refusedBeforeSending.exec(text)?.[0] ?? []);
  if (refused === "bad port") {
    const message = `fetch sends nothing to the port of ${host}: the port is reserved for another protocol`;
    return failure("NETWORK_FAILED", message, { ...details, remedy: "none" });
  }
  if (refused !== undefined)
    return failure("NETWORK_FAILED", `no connection to ${host}: ${refused}`, details);
  const message = wasSent ? `the connection to ${host} was lost` : `${host} could not be reached`;
  return failure("NETWORK_FAILED", named(message), details);
}

// Of zlib and Brotli.
const damagedCodes = /^(?:Z_|ERR__ERROR_FORMAT_)/;

// No connection, or a certificate that was not accepted.
const neverConnectedCodes =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|ERR_SSL_WRONG_VERSION_NUMBER)$|^(?:CERT|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_TLS_CERT)_/;

// Calls of the system that come before the first byte of a request.
const connectingCalls = new Set(["connect", "getaddrinfo"]);

// Two errors of undici without a code: a port that the fetch standard blocks, and a proxy that opens no tunnel.
const refusedBeforeSending = /^(?:bad port$|Proxy response \(\d{3}\))/;

/** True when the error proves that no byte of the request was sent, to any of the host's addresses. */
function neverSent(error: unknown, depth = 0): boolean {
  if (!(error instanceof Error) || depth > 5) return false;
  if (error instanceof AggregateError) {
    return error.errors.length > 0 && error.errors.every((each) => neverSent(each, depth + 1));
  }
  const { code, syscall } = error as { code?: unknown; syscall?: unknown };
  if (typeof code === "string" && neverConnectedCodes.test(code)) return true;
  if (typeof syscall === "string" && connectingCalls.has(syscall)) return true;
  return refusedBeforeSending.test(error.message) || neverSent(error.cause, depth + 1);
}

function textsOf(error: unknown, depth = 0): readonly string[] {
  if (!(error instanceof Error) || depth > 5) return [];
  return [error.message, ...textsOf(error.cause, depth + 1)];
}

/** The platform's error code, such as `ECONNREFUSED`. */
function systemCode(error: unknown, depth = 0): string | undefined {
  if (!(error instanceof Error) || depth > 5) return undefined;
  const code: unknown = Reflect.get(error, "code");
  if (typeof code === "string" && /^[A-Z][A-Z0-9_]{2,60}$/.test(code)) return code;
  const next: unknown = error instanceof AggregateError ? error.errors[0] : error.cause;
  return systemCode(next, depth + 1);
}
