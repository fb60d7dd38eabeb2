import { createServer, type IncomingHttpHeaders } from "node:http";
import { listen } from "./listen.ts";

export type CapturedDelivery = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The exact bytes. */
  readonly body: Buffer;
  /** The bytes parsed as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read payloads of every shape
  readonly event: any;
};

/** A status, a status with headers and a body, or no response. */
export type ReceiverResponse =
  | number
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  | "hang"
  | "reset";

export interface CapturingReceiver extends AsyncDisposable {
  readonly url: string;
  /** All deliveries, in order of arrival. */
  readonly deliveries: readonly CapturedDelivery[];
  /** Sets the response to later deliveries; a function gets the delivery. Default: 204. */
  respondWith(response: ReceiverResponse | ((delivery: CapturedDelivery) => ReceiverResponse)): void;
  /** Resolves with the first `count` deliveries once they have arrived. */
  received(count: number): Promise<readonly CapturedDelivery[]>;
  close(): Promise<void>;
}

/** An HTTP server on a free port of 127.0.0.1 that records every delivery. */
export async function startCapturingReceiver(): Promise<CapturingReceiver> {
  const deliveries: CapturedDelivery[] = [];
  const waiting = new Set<() => void>();
  let decide: (delivery: CapturedDelivery) => ReceiverResponse = () => 204;

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const delivery: CapturedDelivery = {
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers,
      body,
      get event() {
        return JSON.parse(body.toString("utf8"));
      },
    };
    deliveries.push(delivery);
    for (const wake of [...waiting]) wake();
    const chosen = decide(delivery);
    if (chosen === "hang") return;
    if (chosen === "reset") {
      request.socket.resetAndDestroy();
      return;
    }
    const {
      status,
      headers = {},
      body: text = "",
    } = typeof chosen === "number" ? { status: chosen } : chosen;
    response.writeHead(status, headers).end(text);
  });
  const listening = await listen(server);
  const close = async () => listening[Symbol.asyncDispose]();

  return {
    url: `${listening.origin}/webhooks`,
    deliveries,
    respondWith(next) {
      decide = typeof next === "function" ? next : () => next;
    },
    received: (count) =>
      new Promise((resolve) => {
        const check = () => {
          if (deliveries.length < count) return;
          waiting.delete(check);
          resolve(deliveries.slice(0, count));
        };
        waiting.add(check);
        check();
      }),
    close,
    [Symbol.asyncDispose]: close,
  };
}
