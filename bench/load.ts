// Sends prepared requests over keep-alive connections, one at a time on each, and reads no more of an answer than where
// it ends and whether it is a success. Made to cost little: it shares the machine with the server that is measured.

import { once } from "node:events";
import { connect, type Socket } from "node:net";

export type LoadResult = { readonly wallMs: number; readonly latenciesMs: readonly number[] };

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
          await exchange(socket, request);
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

function exchange(socket: Socket, request: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const done = (settle: () => void) => {
      socket.off("data", onData).off("error", onLost).off("close", onLost);
      settle();
    };
    const onLost = (error?: unknown) =>
      done(() => reject(error instanceof Error ? error : new Error("the server closed the connection")));
    const onData = (chunk: Buffer) => {
      chunks.push(chunk);
      const answer = chunks.length === 1 ? chunk : Buffer.concat(chunks);
      if (!isComplete(answer)) return;
      const status = answer.toString("latin1", 9, 12);
      if (status.startsWith("2")) done(resolve);
      else done(() => reject(new Error(`answered ${answer.toString("utf8", 9, 400)}`)));
    };
    socket.on("data", onData).on("error", onLost).on("close", onLost);
    socket.write(request);
  });
}

function isComplete(answer: Buffer): boolean {
  const headEnd = answer.indexOf("\r\n\r\n");
  if (headEnd < 0) return false;
  const head = answer.toString("latin1", 0, headEnd).toLowerCase();
  const length = /\r\ncontent-length: *(\d+)/.exec(head)?.[1];
  if (length !== undefined) return answer.length >= headEnd + 4 + Number(length);
  if (/\r\ntransfer-encoding: *chunked/.test(head)) return answer.toString("latin1").endsWith("0\r\n\r\n");
  return true;
}

export function httpRequest(path: string, headers: Readonly<Record<string, string>>, body: Buffer): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n`), body]);
}

export function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}
