import { expect, it } from "vitest";
import { addStreams } from "../../../../docs/playground/worker/web-streams.ts";

/** Classes of a browser that has neither a body of a request nor iteration over a stream. */
function poorBrowser() {
  class PoorStream {
    readonly #stream: ReadableStream;
    constructor(source: ConstructorParameters<typeof ReadableStream>[0]) {
      this.#stream = new ReadableStream(source);
    }
    getReader() {
      return this.#stream.getReader();
    }
  }
  class PoorRequest {
    readonly #text: string;
    constructor(text: string) {
      this.#text = text;
    }
    async arrayBuffer() {
      return new TextEncoder().encode(this.#text).buffer;
    }
  }
  return { PoorStream, PoorRequest };
}

it("the body of a request can be iterated over in a browser that has neither", async () => {
  const { PoorStream, PoorRequest } = poorBrowser();
  expect("body" in new PoorRequest("text")).toBe(false);
  addStreams(PoorRequest as never, PoorStream as never);
  const request = new PoorRequest("text") as unknown as Request;
  expect(request.body).toBe(request.body);
  const parts: string[] = [];
  for await (const part of request.body ?? []) parts.push(new TextDecoder().decode(part));
  expect(parts).toEqual(["text"]);
});

it("a body without bytes has no parts", async () => {
  const { PoorStream, PoorRequest } = poorBrowser();
  addStreams(PoorRequest as never, PoorStream as never);
  const { body } = new PoorRequest("") as unknown as Request;
  expect((await body?.getReader().read())?.done).toBe(true);
});

it("a browser that has both keeps its own", () => {
  const own = Object.getOwnPropertyDescriptor(Request.prototype, "body");
  addStreams(Request, ReadableStream);
  expect(Object.getOwnPropertyDescriptor(Request.prototype, "body")).toEqual(own);
});
