import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import type { RequestLimits } from "../options.ts";
import type { WebhookResponse } from "./responses.ts";

const lingerMs = 1_000;

/**
 * Writes a response to a Node response.
 *
 * Closing a socket with unread bytes makes the other side's system discard the response, and a sender would see a
 * network error in place of a 413. So when more of the body is coming than the kit reads, the response is written at
 * once, and the connection is closed after the bytes of the next second were discarded.
 */
export function sendResponse(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: WebhookResponse,
  limits: RequestLimits,
  clock: Clock,
): void {
  if (response.headersSent || response.destroyed) return;
  if (isRestSmall(request, limits, status)) {
    response.writeHead(status, headers);
    response.end(body);
    return;
  }
  response.writeHead(status, { ...headers, connection: "close" });
  response.write(body);
  if (status === 408) response.end();
  else discardRest(request, limits, clock, () => response.end());
}

/** True when nothing is left of the request, or a small declared rest, which Node discards by itself. */
function isRestSmall(request: IncomingMessage, limits: RequestLimits, status: number): boolean {
  if (request.complete) return true;
  const declaredBytes = Number(request.headers["content-length"] ?? Number.NaN);
  return status !== 408 && declaredBytes <= limits.bodyBytesMax;
}

function discardRest(request: IncomingMessage, limits: RequestLimits, clock: Clock, done: () => void): void {
  let bytesLeft = limits.bodyBytesMax;
  const finish = () => {
    cancelTimeout();
    request.off("data", onData).off("end", finish).off("close", finish);
    done();
  };
  const onData = (chunk: Uint8Array) => {
    bytesLeft -= chunk.length;
    if (bytesLeft < 0) finish();
  };
  const cancelTimeout = clock.schedule(lingerMs, finish);
  request.on("data", onData).on("end", finish).on("close", finish);
  request.resume();
}
