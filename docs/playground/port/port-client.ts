import type { RequestMessage, ToClient } from "./messages.ts";

export interface PortClient {
  /** As the global one, for bodies that are text. */
  fetch(url: string, init: RequestInit): Promise<Response>;
  /** Fails what is in flight: the other side is gone. */
  close(): void;
}

interface Exchange {
  onHead(status: number, headers: Readonly<Record<string, string>>): void;
  onPart(part: Uint8Array): void;
  /** @param failure `null` at the end of a complete body */
  onEnd(failure: string | null): void;
}

/** The side that sends requests. */
export function createPortClient(port: MessagePort): PortClient {
  const exchanges = new Map<number, Exchange>();
  let count = 0;

  port.onmessage = ({ data }: MessageEvent<ToClient>) => {
    const exchange = exchanges.get(data.id);
    if ("status" in data) exchange?.onHead(data.status, data.headers);
    else if ("part" in data) exchange?.onPart(data.part);
    else {
      exchanges.delete(data.id);
      exchange?.onEnd(data.failure);
    }
  };

  return {
    fetch: (url, { method = "GET", headers, body = null, signal }) =>
      new Promise((resolve, reject) => {
        const id = ++count;
        const abort = () => port.postMessage({ id, isAborted: true });
        exchanges.set(id, toResponse(resolve, reject, abort));
        signal?.addEventListener("abort", abort, { once: true });
        const request = { url, method, headers: Object.fromEntries(new Headers(headers)), body };
        port.postMessage({ id, ...request } as RequestMessage);
      }),
    close() {
      port.close();
      for (const { onEnd } of exchanges.values()) onEnd("the mock was replaced by another one");
      exchanges.clear();
    },
  };
}

/** Statuses of responses without a body. */
const bodiless = [204, 205, 304];

function toResponse(
  resolve: (response: Response) => void,
  reject: (error: Error) => void,
  abort: () => void,
): Exchange {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given;
    },
    cancel: abort,
  });
  return {
    onHead: (status, headers) =>
      resolve(new Response(bodiless.includes(status) ? null : body, { status, headers })),
    onPart: (part) => controller?.enqueue(part),
    onEnd(failure) {
      if (failure === null) return controller?.close();
      controller?.error(new TypeError(failure));
      reject(new TypeError(failure));
    },
  };
}
