import { connect as connectTcp } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { type HttpResponse, takeResponse } from "./response-reader.ts";

/** What the receiver sent back for one request. */
export type ProbeResult = { readonly durationMs: number } & (
  | ({ readonly kind: "response" } & HttpResponse)
  /** The receiver closed the connection without a response. */
  | { readonly kind: "closed" }
  /** Neither a response nor a closed connection within the time limit. */
  | { readonly kind: "timeout" }
  | { readonly kind: "not-http" }
);

export type ConnectionResult =
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
