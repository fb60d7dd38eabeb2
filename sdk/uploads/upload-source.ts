// A cut connection means sending some bytes again. Bytes and Blobs can be read at any offset; a stream
// cannot, so the part of it that the service has not yet confirmed is kept in memory: one chunk, never
// the whole document.

/** What can be uploaded. A stream is read once, in order, and kept only as far as it is unconfirmed. */
export type UploadBody =
  | Uint8Array
  | ArrayBuffer
  | Blob
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>;

export interface UploadChunk {
  readonly bytes: Uint8Array;
  /** True when nothing follows. */
  readonly last: boolean;
}

export interface UploadSource {
  /** Total length when it is known before reading. */
  readonly sizeBytes: number | null;
  /** Reads at most `lengthMax` bytes from `offset`; `null` when `offset` is no longer at hand, or lies past the end. */
  chunkAt(offset: number, lengthMax: number): Promise<UploadChunk | null>;
  /** Lets go of a stream that was not read to its end, without waiting: it may be stalled. */
  release(): void;
}

/** Wraps a body; `null` when it is none of the kinds that can be uploaded. */
export function createUploadSource(body: unknown, declaredSizeBytes: number | null): UploadSource | null {
  if (body instanceof Uint8Array) return bytesSource(body);
  if (body instanceof ArrayBuffer) return bytesSource(new Uint8Array(body));
  if (body instanceof Blob) return blobSource(body);
  const parts = readerOf(body);
  return parts && streamSource(parts, declaredSizeBytes);
}

function bytesSource(bytes: Uint8Array): UploadSource {
  return {
    sizeBytes: bytes.byteLength,
    async chunkAt(offset, lengthMax) {
      if (offset > bytes.byteLength) return null;
      const end = Math.min(offset + lengthMax, bytes.byteLength);
      return { bytes: bytes.subarray(offset, end), last: end === bytes.byteLength };
    },
    release() {},
  };
}

function blobSource(blob: Blob): UploadSource {
  return {
    sizeBytes: blob.size,
    async chunkAt(offset, lengthMax) {
      if (offset > blob.size) return null;
      const end = Math.min(offset + lengthMax, blob.size);
      return {
        bytes: new Uint8Array(await blob.slice(offset, end).arrayBuffer()),
        last: end === blob.size,
      };
    },
    release() {},
  };
}

function streamSource(parts: PartReader, declaredSizeBytes: number | null): UploadSource {
  let buffered: Uint8Array[] = [];
  let bufferedBytes = 0;
  let startOffset = 0;
  let ended = false;

  /** Reads until more than `lengthMax` bytes are at hand, so that a last chunk is known to be the last. */
  async function fillPast(lengthMax: number): Promise<void> {
    while (!ended && bufferedBytes <= lengthMax) {
      const step = await parts.next();
      if (step.done === true) {
        ended = true;
      } else if (step.value instanceof Uint8Array) {
        // Some streams reuse the memory of a part once it was taken; the copy is what may be sent twice.
        buffered.push(new Uint8Array(step.value));
        bufferedBytes += step.value.byteLength;
      } else {
        throw new TypeError(`expected the stream to yield Uint8Array parts, got ${typeof step.value}`);
      }
    }
  }

  /** Lets go of what lies before `offset`, reading on when it was not reached yet. */
  async function skipTo(offset: number): Promise<boolean> {
    while (!ended && startOffset + bufferedBytes < offset) {
      startOffset += bufferedBytes;
      buffered = [];
      bufferedBytes = 0;
      await fillPast(0);
    }
    if (offset > startOffset + bufferedBytes) return false;
    buffered = [Buffer.concat(buffered).subarray(offset - startOffset)];
    bufferedBytes -= offset - startOffset;
    startOffset = offset;
    return true;
  }

  async function cancel(): Promise<void> {
    try {
      await parts.cancel();
    } catch {
      // The upload is over; how the stream takes its cancellation changes nothing about that.
    }
  }

  return {
    sizeBytes: declaredSizeBytes,
    async chunkAt(offset, lengthMax) {
      if (offset < startOffset || !(await skipTo(offset))) return null;
      await fillPast(lengthMax);
      const bytes = Buffer.concat(buffered).subarray(0, lengthMax);
      return { bytes, last: ended && bytes.byteLength === bufferedBytes };
    },
    release() {
      if (!ended) void cancel();
    },
  };
}

/** A stream, reduced to what is needed of it. */
interface PartReader {
  next(): Promise<{ readonly done?: boolean | undefined; readonly value?: unknown }>;
  cancel(): unknown;
}

// The `return` of an async generator waits for the read that is under way. Where a stream offers a way to
// cut even that short, it is used: an upload that was ended must not leave a file or a socket open.
function readerOf(body: unknown): PartReader | null {
  if (body instanceof ReadableStream) {
    // Taken at the first read, so that a stream somebody else holds fails like one that cannot be read.
    let reader: ReadableStreamDefaultReader<unknown> | undefined;
    const take = () => {
      reader ??= body.getReader();
      return reader;
    };
    return { next: async () => take().read(), cancel: async () => take().cancel() };
  }
  if (!isAsyncIterable(body)) return null;
  const iterator = body[Symbol.asyncIterator]();
  const { destroy } = body;
  return {
    next: () => iterator.next(),
    cancel: typeof destroy === "function" ? () => destroy.call(body) : () => iterator.return?.(),
  };
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> & { readonly destroy?: unknown } {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
