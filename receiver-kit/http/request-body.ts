// The body is read here and not by a general parser: a parser goes by content type (and leaves the body unread
// when it does not know it), inflates compressed bodies (so that other bytes are checked than were signed), and
// has a limit made for forms. A delivery is its raw bytes, whatever it calls itself.

import type { IncomingMessage } from "node:http";
import { types } from "node:util";
import type { Clock } from "../clock.ts";
import { WebhookRejectedError } from "../errors.ts";
import { mountingHint } from "./responses.ts";

export type RequestLimits = {
  /** Largest request body. Larger ones are answered 413. Default 1,048,576. */
  readonly bodyBytesMax: number;
  /** Time a body may take to arrive. Slower ones are answered 408. Default 10,000. */
  readonly bodyTimeoutMs: number;
};

export const defaultRequestLimits: RequestLimits = { bodyBytesMax: 1_048_576, bodyTimeoutMs: 10_000 };

type DeclaredBody = { readonly encoding: string | undefined; readonly length: string | undefined };

/**
 * Reads the whole body of a Node request as the bytes that came.
 *
 * Takes what another middleware kept whole: `rawBody`, or a `body` that still is a Buffer. Must be called in the
 * same tick as the middleware, before any `await`, or bytes may have gone by.
 *
 * Rejects with a `WebhookRejectedError`: BODY_ENCODED, BODY_TOO_LARGE, BODY_TIMEOUT, BODY_ABORTED, BODY_CONSUMED.
 */
export async function readRequestBody(
  request: IncomingMessage,
  limits: RequestLimits,
  clock: Clock,
): Promise<Uint8Array> {
  const declared = {
    encoding: request.headers["content-encoding"],
    length: request.headers["content-length"],
  };
  rejectDeclared(declared, limits);
  const kept = findKeptBody(request);
  if (kept) {
    if (kept.length > limits.bodyBytesMax) throw tooLarge(limits, kept.length);
    return kept;
  }
  if (request.readableDidRead) throw bodyConsumed();
  return collect(request, limits, clock);
}

/** Refuses what the headers alone give away, before a byte is read. */
export function rejectDeclared({ encoding, length }: DeclaredBody, limits: RequestLimits): void {
  if (encoding && encoding.toLowerCase() !== "identity") {
    throw new WebhookRejectedError(
      "BODY_ENCODED",
      "content-encoding: expected none; the signature covers the body as sent, not inflated",
    );
  }
  if (length !== undefined && Number(length) > limits.bodyBytesMax) throw tooLarge(limits, Number(length));
}

export function bodyConsumed(): WebhookRejectedError {
  return new WebhookRejectedError("BODY_CONSUMED", mountingHint);
}

export function tooLarge(limits: RequestLimits, bytes: number): WebhookRejectedError {
  return new WebhookRejectedError(
    "BODY_TOO_LARGE",
    `request body: expected at most ${limits.bodyBytesMax} bytes, got ${bytes} or more`,
  );
}

export function tooSlow(limits: RequestLimits): WebhookRejectedError {
  return new WebhookRejectedError(
    "BODY_TIMEOUT",
    `request body: not complete after ${limits.bodyTimeoutMs} ms`,
  );
}

export function aborted(cause?: unknown): WebhookRejectedError {
  return new WebhookRejectedError("BODY_ABORTED", "request body: the connection closed before its end", {
    cause,
  });
}

function findKeptBody(request: IncomingMessage): Uint8Array | undefined {
  const { rawBody, body } = request as { rawBody?: unknown; body?: unknown };
  if (types.isUint8Array(rawBody)) return rawBody;
  return types.isUint8Array(body) ? body : undefined;
}

function collect(request: IncomingMessage, limits: RequestLimits, clock: Clock): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    const onData = (chunk: Uint8Array) => {
      bytes += chunk.length;
      if (bytes > limits.bodyBytesMax) return settle(() => reject(tooLarge(limits, bytes)));
      chunks.push(chunk);
    };
    const onEnd = () => settle(() => resolve(join(chunks, bytes)));
    const onLost = (cause?: unknown) => settle(() => reject(aborted(cause)));
    const cancelTimeout = clock.schedule(limits.bodyTimeoutMs, () => settle(() => reject(tooSlow(limits))));
    const settle = (outcome: () => void) => {
      cancelTimeout();
      request.off("data", onData).off("end", onEnd).off("close", onLost);
      // An `error` without a listener would end the process; one may still come after a refusal.
      request.off("error", onLost).on("error", ignoreLateError);
      outcome();
    };
    request.on("data", onData).on("end", onEnd).on("error", onLost).on("close", onLost);
    // A request that died before it came here emits nothing any more.
    if (request.destroyed) onLost();
  });
}

function ignoreLateError(): void {}

function join(chunks: readonly Uint8Array[], bytes: number): Uint8Array {
  const [first] = chunks;
  return first && chunks.length === 1 ? first : Buffer.concat(chunks, bytes);
}
