import { types } from "node:util";
import { type Clock, systemClock } from "../clock.ts";
import type { RequestLimits } from "./request-body.ts";
import { aborted, bodyConsumed, rejectDeclared, tooLarge, tooSlow } from "./request-body.ts";
import type { DeliverySink } from "./webhook-handler.ts";
import { handleWebhook } from "./webhook-handler.ts";

/**
 * Answers a fetch `Request`, for every framework that speaks fetch. Never rejects.
 *
 * Same steps, limits and answers as the Express middleware. The path is not looked at: routing is the caller's.
 */
export async function handleFetch(sink: DeliverySink, request: Request): Promise<Response> {
  const answer = await handleWebhook(sink, {
    method: request.method,
    headers: request.headers,
    readBody: () => readFetchBody(request, sink.limits, sink.clock ?? systemClock),
  });
  const body = request.method === "HEAD" ? null : Buffer.from(answer.body);
  return new Response(body, { status: answer.status, headers: answer.headers });
}

async function readFetchBody(request: Request, limits: RequestLimits, clock: Clock): Promise<Uint8Array> {
  rejectDeclared(
    {
      encoding: request.headers.get("content-encoding") ?? undefined,
      length: request.headers.get("content-length") ?? undefined,
    },
    limits,
  );
  if (request.bodyUsed || request.body?.locked) throw bodyConsumed();
  if (!request.body) return new Uint8Array();
  const reader = request.body.getReader();
  let cancelTimeout = () => {};
  const timeout = new Promise<never>((_, reject) => {
    cancelTimeout = clock.schedule(limits.bodyTimeoutMs, () => reject(tooSlow(limits)));
  });
  try {
    return await Promise.race([collect(reader, limits), timeout]);
  } catch (error) {
    // Tells the sender's side to stop; that it may fail in turn changes nothing here.
    reader.cancel(error).catch(() => {});
    throw error;
  } finally {
    cancelTimeout();
  }
}

async function collect(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  limits: RequestLimits,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read().catch((cause: unknown) => {
      throw aborted(cause);
    });
    if (done) return Buffer.concat(chunks, bytes);
    // A request built by hand may stream text, which somebody has decoded.
    if (!types.isUint8Array(value)) throw bodyConsumed();
    bytes += value.length;
    if (bytes > limits.bodyBytesMax) throw tooLarge(limits, bytes);
    chunks.push(value);
  }
}
