// Sends prepared requests over keep-alive connections, one at a time on each. It reads from a response only its end and
// its status, because it shares the machine with the server that is measured.

import { once } from "node:events";
import { connect, type Socket } from "node:net";

export interface LoadResult {
  readonly wallMs: number;
  readonly latenciesMs: readonly number[];
}

export async function sendAll(
  port: number,
  requests: readonly Buffer[],
  connections: number,
): Promise<LoadResult> {
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port)));
  const latenciesMs: number[] = [];
  let next = 0;
  const startedAt = performance.now();
  try {
    await Promise.all(
      sockets.map(async (socket) => {
        for (let request = requests[next++]; request; request = requests[next++]) {
          const sentAt = performance.now();
          await roundTrip(socket, request);
          latenciesMs.push(performance.now() - sentAt);
        }
      }),
    );
  } finally {
    for (const socket of sockets) socket.destroy();
  }
  return { wallMs: performance.now() - startedAt, latenciesMs };
}

async function open(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.setNoDelay(true);
  await once(socket, "connect");
  return socket;
}

function roundTrip(socket: Socket, request: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const done = (settle: () => void) => {
      socket.off("data", onData).off("error", onClosed).off("close", onClosed);
      settle();
    };
    const onClosed = (error?: unknown) =>
      done(() => reject(error instanceof Error ? error : new Error("the server closed the connection")));
    const onData = (chunk: Buffer) => {
      chunks.push(chunk);
      const response = chunks.length === 1 ? chunk : Buffer.concat(chunks);
      if (!isComplete(response)) return;
      const status = response.toString("latin1", 9, 12);
      if (status.startsWith("2")) done(resolve);
      else done(() => reject(new Error(`the server responded ${response.toString("utf8", 9, 400)}`)));
    };
    socket.on("data", onData).on("error", onClosed).on("close", onClosed);
    socket.write(request);
  });
}

function isComplete(response: Buffer): boolean {
  const headEnd = response.indexOf("\r\n\r\n");
  if (headEnd < 0) return false;
  const head = response.toString("latin1", 0, headEnd).toLowerCase();
  const length = /\r\ncontent-length: *(\d+)/.exec(head)?.[1];
  if (length !== undefined) return response.length >= headEnd + 4 + Number(length);
  if (/\r\ntransfer-encoding: *chunked/.test(head)) return response.toString("latin1").endsWith("0\r\n\r\n");
  return true;
}

export function httpRequest(path: string, headers: Readonly<Record<string, string>>, body: Buffer): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n`), body]);
}
