import type { RequestMessage, ResponseMessage } from "./port-client.ts";

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
