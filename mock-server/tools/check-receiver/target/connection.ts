import { connect as connectTcp } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Clock } from "@workspace-tasks/kernel/clock.ts";

/** What the receiver sent back for one request. */
export type ProbeResult = { readonly durationMs: number } & (
  | ({ readonly kind: "response" } & HttpResponse)
  /** The receiver closed the connection without a response. */
  | { readonly kind: "closed" }
  /** Neither a response nor a closed connection within the time limit. */
  | { readonly kind: "timeout" }
  | { readonly kind: "not-http" }
);

type ConnectionResult =
  | ProbeResult
  | { readonly kind: "unreachable"; readonly code: string; readonly durationMs: number };

/** A raw connection: sends bytes unchanged, receives responses in order. */
export interface Connection {
  /** Writes and waits until the bytes left or the connection ended; never throws. */
  write(bytes: Buffer): Promise<void>;
  /** Half-closes: the receiver reads the end, responses can still arrive. */
  finish(): void;
  /** The next response, waiting at most `timeoutMs`. */
  response(timeoutMs: number): Promise<ConnectionResult>;
  /** True once the receiver ended the connection. */
  readonly ended: boolean;
  close(): void;
}

type End = { readonly kind: "closed" | "not-http" } | { readonly kind: "unreachable"; readonly code: string };

/** Opens a socket; `response` returns a failure to connect. */
export function openConnection(url: URL, clock: Clock): Connection {
  const startedAt = clock.monotonic();
  const socket = openSocket(url);
  const received: HttpResponse[] = [];
  let buffered: Buffer = Buffer.alloc(0);
  let end: End | undefined;
  let isConnected = false;
  let wake = () => {};

  function finishWith(reason: End): void {
    end ??= reason;
    socket.destroy();
    wake();
  }
  function read(isClosed: boolean): void {
    try {
      for (let taken = takeResponse(buffered, isClosed); taken; taken = takeResponse(buffered, isClosed)) {
        received.push(taken.content);
        buffered = taken.rest;
      }
      if (received.length > 0) wake();
    } catch {
      finishWith({ kind: "not-http" });
    }
  }
  socket.on(url.protocol === "https:" ? "secureConnect" : "connect", () => {
    isConnected = true;
  });
  socket.on("data", (bytes: Buffer) => {
    buffered = Buffer.concat([buffered, bytes]);
    read(false);
  });
  socket.on("end", () => {
    read(true);
    finishWith({ kind: "closed" });
  });
  socket.on("error", (error: NodeJS.ErrnoException) =>
    finishWith(isConnected ? { kind: "closed" } : { kind: "unreachable", code: error.code ?? error.message }),
  );
  socket.on("close", () => finishWith({ kind: "closed" }));

  return {
    write(bytes) {
      return new Promise((resolve) => {
        if (end || socket.destroyed) return resolve();
        socket.once("close", resolve);
        socket.write(bytes, () => {
          socket.off("close", resolve);
          resolve();
        });
      });
    },
    finish: () => void socket.end(),
    async response(timeoutMs) {
      if (received.length === 0 && !end) {
        await new Promise<void>((resolve) => {
          // A late timer of a busy process must not hide a response that has arrived: sockets are read first.
          const cancel = clock.schedule(timeoutMs, () => void setImmediate(resolve));
          wake = () => {
            cancel();
            resolve();
          };
        });
      }
      const durationMs = clock.monotonic() - startedAt;
      const response = received.shift();
      return response
        ? { kind: "response", ...response, durationMs }
        : { kind: "timeout", ...end, durationMs };
    },
    get ended() {
      return end !== undefined;
    },
    close: () => void socket.destroy(),
  };
}

function openSocket({ protocol, hostname, port }: URL) {
  const host = hostname.replace(/^\[|\]$/g, "");
  // allowHalfOpen: the end of our side must not end the receiver's.
  return protocol === "https:"
    ? connectTls({ host, port: Number(port || 443), servername: /^[\d.:]+$/.test(host) ? "" : host })
    : connectTcp({ host, port: Number(port || 80), allowHalfOpen: true, noDelay: true });
}

/** One HTTP response as it was received. `body` holds at most its first 64 KB. */
interface HttpResponse {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

const headBytesMax = 256 * 1024;
const bodyBytesKept = 64 * 1024;

interface Part<Content> {
  readonly content: Content;
  /** The bytes after it. */
  readonly rest: Buffer;
}

/**
 * The first HTTP/1 response in `bytes`; undefined while it is incomplete. Interim (1xx) responses are dropped. Throws
 * when the bytes are not HTTP/1. `isClosed`: no more bytes follow, which completes a body without a length.
 */
export function takeResponse(bytes: Buffer, isClosed: boolean): Part<HttpResponse> | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd === -1) {
    if (bytes.length > headBytesMax) throw new Error("the head of the response has no end");
    if (bytes.length >= 5 && bytes.toString("latin1", 0, 5) !== "HTTP/") throw new Error("not HTTP");
    return undefined;
  }
  const [statusLine = "", ...lines] = bytes.toString("latin1", 0, headEnd).split("\r\n");
  const status = Number(/^HTTP\/1\.[01] ([1-5][0-9]{2})(?: |$)/.exec(statusLine)?.[1]);
  if (Number.isNaN(status)) throw new Error("not HTTP");
  const afterHead = bytes.subarray(headEnd + 4);
  if (status < 200) return takeResponse(afterHead, isClosed);
  const headers = new Map(lines.map(parseHeader));
  const body = takeBody(afterHead, status, headers, isClosed);
  return body && { ...body, content: { status, headers, body: body.content.subarray(0, bodyBytesKept) } };
}

function parseHeader(line: string): [name: string, value: string] {
  const [name = "", ...value] = line.split(":");
  return [name.toLowerCase(), value.join(":").trim()];
}

function takeBody(
  bytes: Buffer,
  status: number,
  headers: HttpResponse["headers"],
  isClosed: boolean,
): Part<Buffer> | undefined {
  const take = (length: number) => ({ content: bytes.subarray(0, length), rest: bytes.subarray(length) });
  if (status === 204 || status === 304) return take(0);
  if (/chunked\s*$/i.test(headers.get("transfer-encoding") ?? "")) return takeChunks(bytes);
  const length = headers.get("content-length") ?? "";
  if (/^[0-9]+$/.test(length)) return bytes.length < Number(length) ? undefined : take(Number(length));
  return isClosed ? take(bytes.length) : undefined;
}

function takeChunks(bytes: Buffer): Part<Buffer> | undefined {
  const chunks: Buffer[] = [];
  let offset = 0;
  for (;;) {
    const lineEnd = bytes.indexOf("\r\n", offset);
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(bytes.toString("latin1", offset, lineEnd), 16);
    if (Number.isNaN(size)) throw new Error("the response has a malformed chunk");
    if (size === 0) {
      // Trailers, if any, end with an empty line; the size line's own end may be that line's start.
      const end = bytes.indexOf("\r\n\r\n", lineEnd);
      return end === -1 ? undefined : { content: Buffer.concat(chunks), rest: bytes.subarray(end + 4) };
    }
    const chunkStart = lineEnd + 2;
    if (bytes.length < chunkStart + size + 2) return undefined;
    chunks.push(bytes.subarray(chunkStart, chunkStart + size));
    offset = chunkStart + size + 2;
  }
}
