// HTTP between the page and the worker of the mock. A request has a port of its own for its response: first the head, then
// the parts of the body, then the end. A message back aborts it.

export interface RequestMessage {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export type ResponseMessage =
  | { readonly status: number; readonly headers: Readonly<Record<string, string>> }
  | { readonly part: Uint8Array }
  /** `null` at the end of a complete body. */
  | { readonly failure: string | null };

export interface PortClient {
  /** `fetch` is like the global one, for bodies that are text. */
  fetch(url: string, init: RequestInit): Promise<Response>;
  /** Fails what is in flight: the other side is gone. */
  close(): void;
}

/** Statuses of responses without a body. */
const bodiless = [204, 205, 304];

export function createPortClient(port: MessagePort): PortClient {
  const inFlight = new Set<(failure: string) => void>();

  const exchange = (request: RequestMessage, signal: AbortSignal | null | undefined) =>
    new Promise<Response>((resolve, reject) => {
      const { port1: replies, port2 } = new MessageChannel();
      const parts = new TransformStream<Uint8Array, Uint8Array>();
      const writer = parts.writable.getWriter();
      const abort = () => replies.postMessage("abort");
      const fail = (failure: string) => {
        const error = new TypeError(failure);
        reject(error);
        writer.abort(error).catch(() => {});
      };
      replies.onmessage = ({ data }: MessageEvent<ResponseMessage>) => {
        if ("status" in data) {
          const body = bodiless.includes(data.status) ? null : parts.readable;
          return resolve(new Response(body, data));
        }
        if ("part" in data) return void writer.write(data.part).catch(() => {});
        inFlight.delete(fail);
        replies.close();
        if (data.failure !== null) return fail(data.failure);
        writer.close().catch(() => {});
      };
      inFlight.add(fail);
      // A body may be cancelled while no part of it comes.
      writer.closed.catch(abort);
      signal?.addEventListener("abort", abort, { once: true });
      port.postMessage(request, [port2]);
    });

  return {
    fetch: (url, { method = "GET", headers, body, signal }) => {
      const plainHeaders = Object.fromEntries(new Headers(headers));
      return exchange({ url, method, headers: plainHeaders, body: body ? String(body) : null }, signal);
    },
    close() {
      port.close();
      for (const fail of inFlight) fail("the mock was replaced by another one");
    },
  };
}

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Responds to the requests of a port client, with `fetch`. */
export function servePort(port: MessagePort, fetch: Fetch): void {
  port.onmessage = ({ data, ports: [replies] }: MessageEvent<RequestMessage>) => {
    if (replies) void respond(data, replies, fetch);
  };
}

async function respond(
  { url, ...request }: RequestMessage,
  replies: MessagePort,
  fetch: Fetch,
): Promise<void> {
  const send = (message: ResponseMessage) => replies.postMessage(message);
  const aborting = new AbortController();
  replies.onmessage = () => aborting.abort();
  try {
    const { status, headers, body } = await fetch(url, { ...request, signal: aborting.signal });
    send({ status, headers: Object.fromEntries(headers) });
    const parts = new WritableStream<Uint8Array>({ write: (part) => send({ part }) });
    await body?.pipeTo(parts, aborting);
    send({ failure: null });
  } catch (error) {
    send({ failure: error instanceof Error ? error.message : String(error) });
  }
}
