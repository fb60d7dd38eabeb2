// What some browsers lack of the streams of the web. Firefox has no `body` of a request, and older Safari no iteration.

type Reading = Pick<ReadableStream<Uint8Array>, "getReader">;

async function* iterate(this: Reading): AsyncGenerator<Uint8Array> {
  const reader = this.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel();
  }
}

/** Adds what is missing. @param Requests the class, `Request` in a browser */
export function addStreams(Requests: typeof Request, Streams: typeof ReadableStream): void {
  if (!(Symbol.asyncIterator in Streams.prototype))
    Object.assign(Streams.prototype, { [Symbol.asyncIterator]: iterate });
  if ("body" in Requests.prototype) return;
  const bodies = new WeakMap<Request, ReadableStream>();
  Object.defineProperty(Requests.prototype, "body", {
    get(this: Request) {
      const body = bodies.get(this) ?? new Streams({ pull: (controller) => pullAll(this, controller) });
      bodies.set(this, body);
      return body;
    },
  });
}

async function pullAll(request: Request, controller: ReadableStreamDefaultController): Promise<void> {
  const bytes = new Uint8Array(await request.arrayBuffer());
  if (bytes.length > 0) controller.enqueue(bytes);
  controller.close();
}
