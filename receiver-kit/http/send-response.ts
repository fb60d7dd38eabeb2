import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../clock.ts";
import type { RequestLimits } from "./request-body.ts";
import type { WebhookResponse } from "./responses.ts";

const lingerMs = 1000;

/**
 * Writes an answer to a Node response.
 *
 * Closing a socket with unread bytes on it makes the other side's system drop the answer, and a sender would see
 * a network error in place of a 413. So when more body is on its way than the kit is willing to read, the answer
 * goes out whole at once, and the connection is closed a moment later, after what came meanwhile was discarded.
 */
export function sendResponse(
  request: IncomingMessage,
  response: ServerResponse,
  answer: WebhookResponse,
  limits: RequestLimits,
  clock: Clock,
): void {
  if (response.headersSent || response.destroyed) return;
  if (isRestHarmless(request, limits, answer.status)) {
    response.writeHead(answer.status, answer.headers);
    response.end(answer.body);
    return;
  }
  response.writeHead(answer.status, { ...answer.headers, connection: "close" });
  response.write(answer.body);
  if (answer.status === 408) response.end();
  else discardRest(request, limits, clock, () => response.end());
}

/** True when nothing, or a declared small rest that Node itself discards, is left of the request. */
function isRestHarmless(request: IncomingMessage, limits: RequestLimits, status: number): boolean {
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
