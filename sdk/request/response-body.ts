// `fetch` can be the platform's, whose bodies are web streams, or node-fetch and cross-fetch, whose bodies are streams
// of Node. Both are read here, so that their size is limited while they arrive.

import { joinBytes, utf8 } from "@workspace-tasks/kernel/bytes.ts";
import type { FetchResponse } from "./fetch.ts";

const decoder = new TextDecoder();

/** The body of one response. */
export class ResponseBody {
  readonly #response: Pick<FetchResponse, "body" | "text">;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  constructor(response: Pick<FetchResponse, "body" | "text">) {
    this.#response = response;
  }

  /** Reads the body as text; undefined when it is larger than `bytesMax`. */
  async text(bytesMax: number): Promise<string | undefined> {
    const next = this.#open();
    if (!next) {
      // Of the caller's `fetch`, so it may be anything.
      const text = String(await this.#response.text());
      return utf8(text).byteLength > bytesMax ? undefined : text;
    }
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for (;;) {
      const { done, value } = await next();
      if (done) return decoder.decode(joinBytes(chunks));
      const chunk = value instanceof Uint8Array ? value : utf8(String(value));
      bytes += chunk.byteLength;
      if (bytes > bytesMax) {
        this.cancel();
        return undefined;
      }
      chunks.push(chunk);
    }
  }

  /** Closes the connection of a body that is not read to its end. Never throws. */
  cancel(reason?: unknown): void {
    try {
      const body: unknown = this.#response.body;
      const source = this.#reader ?? body;
      if (isCancellable(source)) {
        // A stream that has already failed rejects again.
        Promise.resolve(source.cancel(reason)).catch(() => {});
      } else if (isIterable(body)) body.destroy?.();
    } catch {
      // A body of the caller's `fetch` that cannot be closed. The call must end nevertheless.
    }
  }

  /** Returns what reads the next part; undefined for a body that is no stream. */
  #open(): (() => Promise<{ readonly done?: boolean | undefined; readonly value?: unknown }>) | undefined {
    const body: unknown = this.#response.body;
    if (isWebStream(body)) {
      const reader = body.getReader();
      this.#reader = reader;
      return () => reader.read();
    }
    if (!isIterable(body)) return undefined;
    const iterator = body[Symbol.asyncIterator]();
    return () => iterator.next();
  }
}

interface NodeStream extends AsyncIterable<unknown> {
  destroy?(): void;
}

function isWebStream(body: unknown): body is ReadableStream<Uint8Array> {
  return typeof body === "object" && body !== null && "getReader" in body;
}

function isCancellable(source: unknown): source is { cancel(reason?: unknown): unknown } {
  return typeof source === "object" && source !== null && "cancel" in source;
}

function isIterable(body: unknown): body is NodeStream {
  return typeof body === "object" && body !== null && Symbol.asyncIterator in body;
}
