import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { ServerProcess } from "./processes.ts";
import { sampleBody, signDelivery } from "./sample-delivery.ts";
import { quantile } from "./statistics.ts";

export interface DeliverOptions {
  /** Waits until the handlers of all deliveries have run. */
  readonly untilHandled?: boolean | undefined;
}

const connections = 64;

/** Per delivery, except for the latency. */
export interface Delivered {
  /** CPU time of all servers. */
  readonly cpuUs: number;
  /** Until all are acknowledged. */
  readonly wallUs: number;
  /** Until all are handled. */
  readonly handledUs: number;
  readonly p99Ms: number;
}

/** Signed deliveries, each of another task, as HTTP requests; built before the measurement. */
export function deliveryRequests(name: string, count: number, bytes: number): Buffer[] {
  return Array.from({ length: count }, (_, index) => {
    const { headers, body } = signDelivery(
      `msg_${name}_${index}`,
      sampleBody(bytes, index, Number.POSITIVE_INFINITY),
    );
    return httpRequest("/webhooks", headers, body);
  });
}

/** Sends the requests to the servers, to each of them the same share. */
export async function deliver(
  servers: readonly ServerProcess[],
  requests: readonly Buffer[],
  { untilHandled = false }: DeliverOptions = {},
): Promise<Delivered> {
  const shares = servers.map((_, server) => requests.filter((_, index) => index % servers.length === server));
  const cpuUs = () => sumOf(servers, (server) => server.cpuUs());
  const handled = () => sumOf(servers, (server) => server.count());
  const handledBefore = untilHandled ? await handled() : 0;
  const cpuBefore = await cpuUs();
  const startedAt = performance.now();
  const loads = await Promise.all(
    servers.map(({ port }, server) => sendAll(port, shares[server] ?? [], connections)),
  );
  while (untilHandled && (await handled()) < handledBefore + requests.length) await pause(5);
  const handledMs = performance.now() - startedAt;
  return {
    cpuUs: ((await cpuUs()) - cpuBefore) / requests.length,
    wallUs: (Math.max(...loads.map(({ wallMs }) => wallMs)) * 1_000) / requests.length,
    handledUs: (handledMs * 1_000) / requests.length,
    p99Ms: quantile(
      loads.flatMap(({ latenciesMs }) => latenciesMs),
      0.99,
    ),
  };
}

async function sumOf(
  servers: readonly ServerProcess[],
  measure: (server: ServerProcess) => Promise<number>,
): Promise<number> {
  const values = await Promise.all(servers.map(measure));
  return values.reduce((sum, value) => sum + value, 0);
}

// Sends prepared requests over keep-alive connections, one at a time on each. It reads from a response only its end and
// its status, because it shares the machine with the server that is measured.

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
