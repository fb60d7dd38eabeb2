import { joinBytes, utf8 } from "@workspace-tasks/kernel/bytes.ts";
import type { FetchResponse } from "./fetch.ts";

const decoder = new TextDecoder();

/** The body of one response, whose size is limited while it arrives. */
export class ResponseBody {
  readonly #response: Pick<FetchResponse, "body" | "text">;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  constructor(response: Pick<FetchResponse, "body" | "text">) {
    this.#response = response;
  }

  /** Reads the body as text; undefined when it is larger than `bytesMax`. */
  async text(bytesMax: number): Promise<string | undefined> {
    const body: unknown = this.#response.body;
    if (!isStream(body)) {
      // Of the caller's `fetch`, so it may be anything.
      const text = String(await this.#response.text());
      return utf8(text).byteLength > bytesMax ? undefined : text;
    }
    this.#reader = body.getReader();
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for (;;) {
      const { done, value } = await this.#reader.read();
      if (done) return decoder.decode(joinBytes(chunks));
      // A stream of the caller's `fetch` may have texts, whose size counts too.
      const chunk: Uint8Array = (value as unknown) instanceof Uint8Array ? value : utf8(String(value));
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
    const close = async () => {
      const body: unknown = this.#response.body;
      await (this.#reader ?? (isStream(body) ? body : undefined))?.cancel(reason);
    };
    // A stream that has already failed rejects again. The call must end nevertheless.
    close().catch(() => {});
  }
}

function isStream(body: unknown): body is ReadableStream<Uint8Array> {
  return typeof body === "object" && body !== null && "getReader" in body;
}
