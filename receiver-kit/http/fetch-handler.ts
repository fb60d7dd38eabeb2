import { types } from "node:util";
import { type Clock, systemClock } from "@workspace-tasks/kernel/clock.ts";
import { deferred } from "@workspace-tasks/kernel/deferred.ts";
import { refine } from "@workspace-tasks/kernel/schema.ts";
import { withTimeout } from "@workspace-tasks/kernel/with-timeout.ts";
import { parseOptions } from "../options.ts";
import { type ReceivingBodies, type ReceivingBody, receivingBodiesOf } from "./receiving-bodies.ts";
import { aborted, bodyConsumed, checkHeaders, tooSlow } from "./request-body.ts";
import { type DeliverySink, handleWebhook } from "./webhook-handler.ts";

const isRequest = (given: unknown) =>
  typeof (given as Partial<Request> | null | undefined)?.headers?.get === "function";
const requestArgument = refine<Request>("a Request of the fetch API, in Hono context.req.raw", isRequest);

/**
 * Responds to a fetch `Request`, with the checks, limits and responses of the Express middleware. The path is ignored:
 * routing is the caller's.
 *
 * @throws {ReceiverError} `ARGUMENT_INVALID` for anything but a `Request`, and nothing else
 */
export async function handleFetch(sink: DeliverySink, request: Request): Promise<Response> {
  if (!isRequest(request)) parseOptions("fetch", requestArgument, request, "ARGUMENT_INVALID");
  const response = await handleWebhook(sink, {
    method: request.method,
    url: request.url,
    headers: request.headers,
    readBody: () => readFetchBody(request, receivingBodiesOf(sink, sink.limits), sink.clock ?? systemClock),
  });
  const body = request.method === "HEAD" ? null : response.body;
  return new Response(body, { status: response.status, headers: response.headers });
}

async function readFetchBody(request: Request, bodies: ReceivingBodies, clock: Clock): Promise<Uint8Array> {
  const { limits } = bodies;
  const contentLength = request.headers.get("content-length");
  checkHeaders(request.headers.get("content-encoding"), contentLength, limits);
  if (request.bodyUsed || request.body?.locked) throw bodyConsumed();
  const bytes = request.body ? await readStream(request.body, bodies, clock) : new Uint8Array();
  // A server that has responded, as when the promise of `fetch` is not returned to it, ends the body without a byte.
  if (bytes.length === 0 && Number(contentLength) > 0) throw bodyConsumed();
  return bytes;
}

async function readStream(
  stream: ReadableStream<Uint8Array>,
  bodies: ReceivingBodies,
  clock: Clock,
): Promise<Uint8Array> {
  const { limits } = bodies;
  const reader = stream.getReader();
  const rejected = deferred<never>();
  const body = bodies.start(rejected.reject);
  try {
    const read = Promise.race([collect(reader, body), rejected.promise]);
    return await withTimeout(read, limits.bodyTimeoutMs, clock, () => tooSlow(limits));
  } catch (error) {
    // Stops the sender. Whether that works makes no difference here.
    reader.cancel(error).catch(() => {});
    throw error;
  } finally {
    body.release();
  }
}

async function collect(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  body: ReceivingBody,
): Promise<Uint8Array> {
  for (;;) {
    const { done, value } = await reader.read().catch((cause: unknown) => {
      throw aborted(cause);
    });
    if (done) return body.toBytes();
    // A stream of text: the bytes were decoded before.
    if (!types.isUint8Array(value)) throw bodyConsumed();
    body.append(value);
  }
}
