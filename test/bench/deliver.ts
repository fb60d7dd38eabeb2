import { setTimeout as pause } from "node:timers/promises";
import type { ServerProcess } from "./processes.ts";
import { sampleBody, signDelivery } from "./sample-delivery.ts";
import { httpRequest, sendAll } from "./send-all.ts";
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
