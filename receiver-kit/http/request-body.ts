// The body is read here and not by a general parser. A parser goes by content type and leaves an unknown one unread,
// inflates compressed bodies so that other bytes are verified than were signed, and has a limit made for forms.

import type { IncomingMessage } from "node:http";
import { types } from "node:util";
import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { callSafely } from "@workspace-tasks/kernel/notify-listener.ts";
import { ReceiverError, WebhookRejectedError } from "../errors.ts";
import type { RequestLimits } from "../options.ts";
import { findHeader, type WebhookHeaders } from "../signature/signature-headers.ts";
import { type ReceivingBodies, tooLarge } from "./receiving-bodies.ts";
import { mountingHint } from "./responses.ts";
import type { WebhookRequest } from "./webhook-handler.ts";

/**
 * What is verified of a Node request, or of one that an adapter of a platform or a test composed in its likeness.
 *
 * @throws {ReceiverError} `ARGUMENT_INVALID` for the request or response that a framework has around those of Node
 */
export function nodeRequest(
  caller: string,
  request: IncomingMessage,
  response: unknown,
  bodies: ReceivingBodies,
  clock: Clock,
): WebhookRequest {
  if (!isNodeRequest(request) || typeof (response as WritesHead)?.writeHead !== "function") {
    const message = `${caller}: expected a request and a response of node:http: in Fastify request.raw and reply.raw, in Koa context.req and context.res`;
    throw new ReceiverError("ARGUMENT_INVALID", message);
  }
  return {
    method: request.method,
    url: targetOf(request),
    headers: headersOf(request),
    readBody: () => readRequestBody(request, bodies, clock),
  };
}

type WritesHead = { readonly writeHead?: unknown } | null | undefined;

function isNodeRequest(given: unknown): boolean {
  if (typeof given !== "object" || given === null) return false;
  const { headers, raw, req } = given as { headers?: unknown; raw?: unknown; req?: unknown };
  const isWrapper = !isStream(given) && [raw, req].some((inner) => isNodeRequest(inner));
  return typeof headers === "object" && headers !== null && !isWrapper;
}

const isStream = (given: object): boolean => typeof (given as { on?: unknown }).on === "function";

/** The form with the most knowledge that has headers: a request that was composed has only the last, or the last two. */
export function headersOf({ rawHeaders, headersDistinct, headers }: IncomingMessage): WebhookHeaders {
  if (rawHeaders?.length > 0) return rawHeaders;
  return Object.keys(headersDistinct ?? {}).length > 0 ? headersDistinct : headers;
}

/**
 * Reads the whole body of a Node request as the bytes received. Uses what another middleware kept: `rawBody`, or a `body` that
 * is a Buffer or text. Of text the signature decides whether it is what was sent.
 *
 * Must be called in the same tick as the middleware, before any `await`, or bytes may be missed. Rejects with a
 * `WebhookRejectedError`: BODY_ENCODED, BODY_TOO_LARGE, BODY_TIMEOUT, BODY_ABORTED, BODY_CONSUMED,
 * BODY_FRAGMENTED, RECEIVING_FULL.
 */
export async function readRequestBody(
  request: IncomingMessage,
  bodies: ReceivingBodies,
  clock: Clock,
): Promise<Uint8Array> {
  const { limits } = bodies;
  const headers = headersOf(request);
  checkHeaders(findHeader(headers, "content-encoding"), findHeader(headers, "content-length"), limits);
  const kept = findKeptBody(request);
  if (kept) {
    if (kept.length > limits.bodyBytesMax) throw tooLarge(limits, kept.length);
    return kept;
  }
  if (request.readableDidRead || !isStream(request)) throw bodyConsumed();
  return collect(request, bodies, clock);
}

/** Rejects what the headers alone show, before a byte is read. */
export function checkHeaders(
  contentEncoding: string | null | undefined,
  contentLength: string | null | undefined,
  limits: RequestLimits,
): void {
  if (contentEncoding && contentEncoding.toLowerCase() !== "identity") {
    const message = "content-encoding: expected none; the signature covers the body as sent, not inflated";
    throw new WebhookRejectedError("BODY_ENCODED", message);
  }
  const bytes = Number(contentLength ?? 0);
  if (bytes > limits.bodyBytesMax) throw tooLarge(limits, bytes);
}

export const bodyConsumed = () => new WebhookRejectedError("BODY_CONSUMED", mountingHint);

export const tooSlow = ({ bodyTimeoutMs }: RequestLimits) =>
  new WebhookRejectedError(
    "BODY_TIMEOUT",
    `request body: not complete after bodyTimeoutMs (${bodyTimeoutMs})`,
  );

export const aborted = (cause?: unknown) =>
  new WebhookRejectedError("BODY_ABORTED", "request body: the connection closed before its end", { cause });

/**
 * Closes the connection without a response. Node passes on each part that is left of what it has read of the socket, up to 64 KB,
 * also to a request that was destroyed, and would keep them.
 */
export function cutOff(request: IncomingMessage): void {
  request.push = () => true;
  callSafely(() => request.destroy());
}

/** The target as sent: a router of Express removes from `url` what it is mounted on. */
function targetOf(request: IncomingMessage): string | undefined {
  const { originalUrl } = request as { originalUrl?: unknown };
  return typeof originalUrl === "string" ? originalUrl : request.url;
}

function findKeptBody(request: IncomingMessage): Uint8Array | undefined {
  const { rawBody, body } = request as { rawBody?: unknown; body?: unknown };
  for (const kept of [rawBody, body]) {
    if (types.isUint8Array(kept)) return kept;
    // Empty text is what is filled while the stream is read.
    if (typeof kept === "string" && kept !== "") return Buffer.from(kept, "utf8");
  }
  return undefined;
}

function collect(request: IncomingMessage, bodies: ReceivingBodies, clock: Clock): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    let isSettled = false;
    const settle = (outcome: () => void) => {
      if (isSettled) return;
      isSettled = true;
      cancelTimeout();
      outcome();
      body.release();
    };
    const fail = (error: Error) => {
      request.off("data", onData);
      settle(() => reject(error));
    };
    const body = bodies.start((error) => {
      fail(error);
      if (error.code === "BODY_FRAGMENTED") cutOff(request);
    });
    const onData = (chunk: Uint8Array) => body.append(chunk);
    const onEnd = () => settle(() => resolve(body.toBytes()));
    const onLost = (cause?: unknown) => {
      // Every request closes, and an error costs more than the rest of this function.
      if (!isSettled) fail(aborted(cause));
    };
    const cancelTimeout = clock.schedule(bodies.limits.bodyTimeoutMs, () => fail(tooSlow(bodies.limits)));
    // They stay: an `error` event without a listener would end the process, and one may follow a rejection.
    request.on("data", onData).on("end", onEnd).on("error", onLost).on("close", onLost);
    // A request that was destroyed before emits no more events.
    if (request.destroyed) onLost();
  });
}
