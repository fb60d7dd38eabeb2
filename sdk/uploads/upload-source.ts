// After a cut connection some bytes are sent again. Bytes and Blobs can be read at any offset; a stream cannot, so the
// part of it that the service has not confirmed is kept in memory: one chunk, never the whole document.

import { ByteBuffer } from "@workspace-tasks/kernel/bytes.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { bytesOf } from "@workspace-tasks/kernel/realm.ts";
import { isWebStream } from "../request/fetch.ts";

/** What can be uploaded. A stream is read once, in order; only its unconfirmed part is kept in memory. */
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
  /** Total length of bytes and Blobs; `null` for a stream. */
  readonly sizeBytes: number | null;
  /** Reads at most `lengthMax` bytes from `offset`; `null` when `offset` is not available any more, or past the end. */
  chunkAt(offset: number, lengthMax: number): Promise<UploadChunk | null>;
  /** Cancels a stream that was not read to its end, without waiting: it may be stalled. */
  release(): void;
}

/**
 * Wraps a body; `null` when it is none of the kinds that can be uploaded. From now on a stream may fail without being
 * read, and has to be released.
 */
export function createUploadSource(body: unknown): UploadSource | null {
  const bytes = bytesOf(body);
  if (bytes) return sizedSource(bytes.byteLength, (start, end) => bytes.subarray(start, end));
  if (isBlob(body)) {
    return sizedSource(
      body.size,
      async (...range) => new Uint8Array(await body.slice(...range).arrayBuffer()),
    );
  }
  const parts = readerOf(body);
  return parts && streamSource(parts);
}

/** True also for a Blob of a DOM environment, which may have no tag. */
const isBlob = (body: unknown): body is Blob =>
  isPlainObject(body) &&
  typeof body["size"] === "number" &&
  typeof body["slice"] === "function" &&
  typeof body["arrayBuffer"] === "function";

function sizedSource(
  sizeBytes: number,
  slice: (start: number, end: number) => Uint8Array | Promise<Uint8Array>,
): UploadSource {
  return {
    sizeBytes,
    async chunkAt(offset, lengthMax) {
      if (offset > sizeBytes) return null;
      const end = Math.min(offset + lengthMax, sizeBytes);
      return { bytes: await slice(offset, end), last: end === sizeBytes };
    },
    release() {},
  };
}

const emptyPartsMax = 10_000;

function streamSource(parts: PartReader): UploadSource {
  let buffered = new ByteBuffer();
  let startOffset = 0;
  let ended = false;
  let emptyParts = 0;

  /** Reads until more than `lengthMax` bytes are buffered, so that a last chunk is known to be the last. */
  async function fillPast(lengthMax: number): Promise<void> {
    while (!ended && buffered.length <= lengthMax) {
      const step = await parts.next();
      if (step.done === true) {
        ended = true;
        return;
      }
      const part = bytesOf(step.value);
      if (!part)
        throw new TypeError(`expected the stream to yield Uint8Array parts, got ${typeof step.value}`);
      // Copied, because some streams reuse the memory of a part, and it may have to be sent again.
      buffered.append(new Uint8Array(part));
      // They may come without a pause in which a time limit could end the upload.
      emptyParts = part.byteLength === 0 ? emptyParts + 1 : 0;
      if (emptyParts > emptyPartsMax)
        throw new TypeError(`expected the stream to yield bytes, got ${emptyParts} empty parts in a row`);
    }
  }

  /** Drops what is before `offset`, reading further if necessary. */
  async function skipTo(offset: number): Promise<boolean> {
    while (!ended && startOffset + buffered.length < offset) {
      startOffset += buffered.length;
      buffered = new ByteBuffer();
      await fillPast(0);
    }
    if (offset > startOffset + buffered.length) return false;
    const rest = buffered.toBytes().subarray(offset - startOffset);
    buffered = new ByteBuffer();
    buffered.append(rest);
    startOffset = offset;
    return true;
  }

  return {
    sizeBytes: null,
    async chunkAt(offset, lengthMax) {
      if (offset < startOffset || !(await skipTo(offset))) return null;
      await fillPast(lengthMax);
      const bytes = buffered.toBytes().subarray(0, lengthMax);
      return { bytes, last: ended && bytes.byteLength === buffered.length };
    },
    release() {
      // The upload has ended, whether or not the stream can be cancelled.
      if (!ended) (async () => parts.cancel())().catch(() => {});
    },
  };
}

/** The part of a stream that is needed. */
interface PartReader {
  next(): Promise<{ readonly done?: boolean | undefined; readonly value?: unknown }>;
  cancel(): unknown;
}

// The `return` of an async generator waits for the read in progress, while a Node stream's `destroy` interrupts it: an
// upload that has ended must not leave a file or a socket open.
function readerOf(body: unknown): PartReader | null {
  if (isWebStream(body)) {
    // Locked at the first read, so that a stream with another reader fails like one that cannot be read.
    let reader: ReadableStreamDefaultReader<unknown> | undefined;
    const take = () => {
      reader ??= body.getReader();
      return reader;
    };
    return { next: async () => take().read(), cancel: async () => take().cancel() };
  }
  if (!isAsyncIterable(body)) return null;
  // Opened at the first read, too: a function of the caller may throw.
  let iterator: AsyncIterator<unknown> | undefined;
  const { destroy, on } = body;
  let failed: { readonly error: unknown } | undefined;
  // A file that does not exist fails before it is read, and a Node stream without a listener ends the process then.
  if (typeof on === "function") {
    on.call(body, "error", (error: unknown) => {
      failed ??= { error };
    });
  }
  return {
    async next() {
      if (failed && !iterator) throw failed.error;
      iterator ??= body[Symbol.asyncIterator]();
      return iterator.next();
    },
    cancel: typeof destroy === "function" ? () => destroy.call(body) : () => iterator?.return?.(),
  };
}

function isAsyncIterable(
  value: unknown,
): value is AsyncIterable<unknown> & { readonly destroy?: unknown; readonly on?: unknown } {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
