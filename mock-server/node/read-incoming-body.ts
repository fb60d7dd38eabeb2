import type { IncomingMessage } from "node:http";
import { ByteBuffer } from "@workspace-tasks/kernel/bytes.ts";

/**
 * A body that is too long is read to its end without being kept: a client that is still sending would get a reset
 * connection instead of the response. Past this many bytes the connection is closed anyway.
 */
const discardedBytesMax = 64 * 1_048_576;

/**
 * Reads what is left of a body after the response, without keeping it: the next request on the connection comes behind it.
 * As Node does with a body of which nothing was read.
 */
export function discardRest(request: IncomingMessage): void {
  if (request.readableEnded || request.destroyed) return;
  let bytes = 0;
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > discardedBytesMax) request.destroy();
  });
  // The connection was lost.
  request.on("error", () => undefined);
  request.resume();
}

/** Reads the body of a request on a socket; `null` past `bytesMax`. Events cost less than async iteration. */
export function readIncomingBody(request: IncomingMessage, bytesMax: number): Promise<Uint8Array | null> {
  return new Promise((resolve, reject) => {
    const body = new ByteBuffer();
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= bytesMax) body.append(chunk);
      else if (bytes > discardedBytesMax) request.destroy();
    });
    request.on("end", () => resolve(bytes > bytesMax ? null : body.toBytes()));
    request.on("error", reject);
    request.on("close", () => {
      if (!request.readableEnded) reject(new Error("the request was aborted"));
    });
  });
}
