import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Clock } from "../../clock.ts";
import { createResponseReader, type HttpResponse } from "./response-reader.ts";

/** What the receiver sent back for one request. */
export type ProbeResult =
  | ({ readonly kind: "response"; readonly durationMs: number } & HttpResponse)
  /** The receiver closed the connection without a response. */
  | { readonly kind: "closed"; readonly durationMs: number }
  /** Neither a response nor a closed connection within the time limit. */
  | { readonly kind: "timeout"; readonly durationMs: number }
  | { readonly kind: "not-http"; readonly durationMs: number };

export type ConnectionResult =
  | ProbeResult
  | { readonly kind: "unreachable"; readonly code: string; readonly durationMs: number };

export interface Address {
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  readonly hostHeader: string;
  readonly path: string;
}

/** A raw connection: sends bytes unchanged, receives responses in order. */
export interface Connection {
  /** Writes and waits until the bytes left or the connection ended; never throws. */
  write(bytes: Buffer | string): Promise<void>;
  /** Half-closes: the receiver reads the end, responses can still arrive. */
  finish(): void;
  /** The next response, waiting at most `timeoutMs`. */
  response(timeoutMs: number): Promise<ConnectionResult>;
  /** True once the receiver ended the connection. */
  readonly ended: boolean;
  close(): void;
}

export function addressOf(url: URL): Address {
  const secure = url.protocol === "https:";
  return {
    secure,
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? (secure ? 443 : 80) : Number(url.port),
    hostHeader: url.host,
    path: `${url.pathname}${url.search}`,
  };
}

/** Opens a socket; `response` returns a failure to connect. */
export function openConnection(address: Address, clock: Clock): Connection {
  const startedAt = clock.monotonic();
  const socket = openSocket(address);
  const reader = createResponseReader();
  const received: HttpResponse[] = [];
  let end: { readonly kind: "closed" | "not-http" } | { kind: "unreachable"; code: string } | undefined;
  let connected = false;
  let wake: () => void = () => undefined;

  function finishWith(reason: NonNullable<typeof end>): void {
    end ??= reason;
    socket.destroy();
    wake();
  }
  socket.on(address.secure ? "secureConnect" : "connect", () => {
    connected = true;
  });
  socket.on("data", (bytes: Buffer) => {
    try {
      received.push(...reader.feed(bytes));
      if (received.length > 0) wake();
    } catch {
      finishWith({ kind: "not-http" });
    }
  });
  socket.on("end", () => {
    const last = reader.end();
    if (last) received.push(last);
    finishWith({ kind: "closed" });
  });
  socket.on("error", (error: NodeJS.ErrnoException) =>
    finishWith(connected ? { kind: "closed" } : { kind: "unreachable", code: error.code ?? error.message }),
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
      const elapsed = () => clock.monotonic() - startedAt;
      if (received.length === 0 && !end) {
        await new Promise<void>((resolve) => {
          const cancel = clock.schedule(timeoutMs, resolve);
          wake = () => {
            cancel();
            resolve();
          };
          if (received.length > 0 || end) wake();
        });
      }
      const response = received.shift();
      if (response) return { kind: "response", ...response, durationMs: elapsed() };
      return { ...(end ?? { kind: "timeout" }), durationMs: elapsed() };
    },
    get ended() {
      return end !== undefined;
    },
    close: () => void socket.destroy(),
  };
}

function openSocket({ secure, host, port }: Address): Socket {
  // allowHalfOpen: the end of our side must not end the receiver's.
  return secure
    ? connectTls({ host, port, servername: /^[\d.:]+$/.test(host) ? "" : host })
    : connectTcp({ host, port, allowHalfOpen: true, noDelay: true });
}
