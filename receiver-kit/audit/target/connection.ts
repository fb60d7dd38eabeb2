import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Clock } from "../../clock.ts";
import { createAnswerReader, type HttpAnswer } from "./response-reader.ts";

/** What came back for one request. */
export type Answer =
  | ({ readonly kind: "answered"; readonly durationMs: number } & HttpAnswer)
  /** The receiver closed the connection without an answer. */
  | { readonly kind: "closed"; readonly durationMs: number }
  /** Neither an answer nor an end within the time limit. */
  | { readonly kind: "silent"; readonly durationMs: number }
  | { readonly kind: "unreachable"; readonly code: string; readonly durationMs: number }
  | { readonly kind: "garbled"; readonly durationMs: number };

export type Address = {
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  readonly hostHeader: string;
  readonly path: string;
};

/** A raw connection: bytes out as they are given, answers in one after another. */
export type Connection = {
  /** Writes and waits until the bytes left or the connection ended; never throws. */
  write(bytes: Buffer | string): Promise<void>;
  /** Half-closes: the receiver sees the end, answers can still come. */
  finish(): void;
  /** The next answer, waiting at most `timeoutMs`. */
  answer(timeoutMs: number): Promise<Answer>;
  /** True once the receiver ended the connection. */
  readonly ended: boolean;
  close(): void;
};

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

/** Opens a socket at once; a failure to connect is told by `answer`. */
export function openConnection(address: Address, clock: Clock): Connection {
  const startedAt = clock.monotonic();
  const socket = openSocket(address);
  const reader = createAnswerReader();
  const arrived: HttpAnswer[] = [];
  let end: { readonly kind: "closed" | "garbled" } | { kind: "unreachable"; code: string } | undefined;
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
      arrived.push(...reader.feed(bytes));
      if (arrived.length > 0) wake();
    } catch {
      // Whatever it is, it is no HTTP answer, which is all there is to say about it.
      finishWith({ kind: "garbled" });
    }
  });
  socket.on("end", () => {
    const last = reader.end();
    if (last) arrived.push(last);
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
    async answer(timeoutMs) {
      const elapsed = () => clock.monotonic() - startedAt;
      if (arrived.length === 0 && !end) {
        await new Promise<void>((resolve) => {
          const cancel = clock.schedule(timeoutMs, resolve);
          wake = () => {
            cancel();
            resolve();
          };
          if (arrived.length > 0 || end) wake();
        });
      }
      const answer = arrived.shift();
      if (answer) return { kind: "answered", ...answer, durationMs: elapsed() };
      return { ...(end ?? { kind: "silent" }), durationMs: elapsed() };
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
