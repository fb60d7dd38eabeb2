import type { IncomingMessage, ServerResponse } from "node:http";
import { isFragmented } from "@workspace-tasks/kernel/bytes.ts";
import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { callSafely } from "@workspace-tasks/kernel/notify-listener.ts";
import { isReceiverError, WebhookRejectedError } from "../errors.ts";
import type { RequestLimits } from "../options.ts";
import { findHeader } from "../signature/signature-headers.ts";
import { cutOff, headersOf } from "./request-body.ts";
import type { WebhookResponse } from "./responses.ts";

const lingerMs = 1_000;
const respondedHint =
  "other code responds, so let the receiver do it alone: Fastify: reply.hijack() in an async route; NestJS: @Res() without passthrough; Koa: context.respond = false; no res.send() or timeout before it";

/**
 * Writes a response to a Node response.
 *
 * Closing a socket with unread bytes makes the other side's system discard the response, and a sender would see a
 * network error in place of a 413. So when more of the body is coming than the kit reads, the response is written at
 * once, and the connection is closed after the bytes of the next second were discarded, or at once where they come in tiny
 * parts.
 *
 * @throws {WebhookRejectedError} `RESPONSE_FAILED` when the sender has been told something else, or could be told nothing
 */
export function sendResponse(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: WebhookResponse,
  limits: RequestLimits,
  clock: Clock,
): void {
  requireUnsent(response);
  if (response.destroyed) return;
  try {
    // Adapters of platforms send what it has at the end.
    response.statusCode = status;
    if (isRestSmall(request, limits, status)) {
      response.writeHead(status, headers["connection"] ? closing(request, headers) : headers);
      response.end(body);
      return;
    }
    response.writeHead(status, closing(request, headers));
    response.write(body);
    if (status === 408) response.end();
    else discardRest(request, limits, clock, () => response.end());
  } catch (cause) {
    const message = `the response ${status} could not be written: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw new WebhookRejectedError("RESPONSE_FAILED", message, { cause });
  }
}

/** HTTP/2 has no such header. */
function closing(
  { httpVersionMajor }: IncomingMessage,
  { connection, ...headers }: WebhookResponse["headers"],
): WebhookResponse["headers"] {
  return httpVersionMajor > 1 ? headers : { ...headers, connection: "close" };
}

/**
 * The sender believes what it was told first, also about deliveries that are forged or were not stored.
 *
 * @throws {WebhookRejectedError} `RESPONSE_FAILED`
 */
export function requireUnsent({ headersSent, writableEnded, statusCode }: ServerResponse): void {
  if (!headersSent && !writableEnded) return;
  throw new WebhookRejectedError(
    "RESPONSE_FAILED",
    `the sender got ${statusCode} before the receiver had decided: ${respondedHint}`,
  );
}

/** Passes an error on, or ends a connection that nothing can be written to; what other code has sent stays as it is. */
export function endFailed(
  error: unknown,
  response: ServerResponse,
  next: ((error?: unknown) => void) | undefined,
): void {
  if (isReceiverError(error, "RESPONSE_FAILED") && error.cause === undefined) return;
  callSafely(() => (typeof next === "function" ? next(error) : response.destroy()));
}

/** True when nothing is left of the request, or a small declared rest, which Node discards by itself. */
function isRestSmall(request: IncomingMessage, limits: RequestLimits, status: number): boolean {
  if (request.complete || typeof request.resume !== "function") return true;
  const declaredBytes = Number(findHeader(headersOf(request), "content-length") ?? Number.NaN);
  return status !== 408 && declaredBytes <= limits.bodyBytesMax;
}

function discardRest(request: IncomingMessage, limits: RequestLimits, clock: Clock, done: () => void): void {
  let bytes = 0;
  let parts = 0;
  const finish = () => {
    cancelTimeout();
    request.off("data", onData).off("end", finish).off("close", finish);
    done();
  };
  const onData = (chunk: Uint8Array) => {
    bytes += chunk.length;
    parts += 1;
    if (isFragmented(parts, bytes)) cutOff(request);
    else if (bytes > limits.bodyBytesMax) finish();
  };
  const cancelTimeout = clock.schedule(lingerMs, finish);
  request.on("data", onData).on("end", finish).on("close", finish);
  request.resume();
}
