import type { FromClient, RequestMessage, ToClient } from "./messages.ts";

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The side that responds to requests, with `fetch`. */
export function servePort(port: MessagePort, fetch: Fetch): void {
  const inFlight = new Map<number, AbortController>();
  port.onmessage = ({ data }: MessageEvent<FromClient>) => {
    if ("isAborted" in data) return inFlight.get(data.id)?.abort();
    const controller = new AbortController();
    inFlight.set(data.id, controller);
    const send = (message: object) => port.postMessage({ id: data.id, ...message } as ToClient);
    respond(data, fetch, controller.signal, send)
      .then(() => send({ failure: null }))
      .catch((error: unknown) => send({ failure: error instanceof Error ? error.message : String(error) }))
      .finally(() => inFlight.delete(data.id));
  };
}

async function respond(
  { url, method, headers, body }: RequestMessage,
  fetch: Fetch,
  signal: AbortSignal,
  send: (message: object) => void,
): Promise<void> {
  const response = await fetch(url, { method, headers, body, signal });
  send({ status: response.status, headers: Object.fromEntries(response.headers) });
  const reader = response.body?.getReader();
  signal.addEventListener("abort", () => void reader?.cancel());
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read())
    send({ part: part.value });
}
