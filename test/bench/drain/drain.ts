import { setTimeout as pause } from "node:timers/promises";
import { type ForkedProcess, forkProcess } from "../fork-process.ts";
import type { DrainProgress, DrainRequest } from "./drainer.ts";

export interface DrainOptions {
  readonly store: string;
  readonly writes: boolean;
  readonly events: number;
  readonly processes?: number | undefined;
  /** Between filling and draining, and again afterwards. */
  readonly readServer?: (() => Promise<ServerUse>) | undefined;
}

/** Of the database server. */
export interface ServerUse {
  readonly commits: number;
  readonly bytesWritten: number;
  /** CPU time of all its processes. */
  readonly cpuUs: number;
}

/** Per event. */
export interface Drained {
  readonly wallUs: number;
  readonly cpuUs: number;
  readonly serverCpuUs: number;
  /** Of both. */
  readonly totalCpuUs: number;
  readonly bytesWritten: number;
  readonly commits: number;
  readonly perSecond: number;
}

/** Fills a backlog and measures how long its handlers take, until the last one has run. */
export async function drain(name: string, options: DrainOptions): Promise<Drained> {
  const { store, writes, events, processes = 1, readServer } = options;
  const args = [name, store, writes ? "writes" : "reads"];
  const children: ForkedProcess[] = [];
  const askAll = (request: DrainRequest) =>
    Promise.all(children.map(async (child) => (await child.request(request)) as DrainProgress));
  const sumOf = (progress: readonly DrainProgress[], field: keyof DrainProgress) =>
    progress.reduce((sum, each) => sum + (each[field] ?? Number.NaN), 0);
  try {
    while (children.length < processes) children.push(await forkProcess("drain/drain-process.ts", args));
    await children[0]?.request({ fill: events } satisfies DrainRequest);
    const before = await readServer?.();
    const startedAt = performance.now();
    await askAll({ start: true });
    let progress: readonly DrainProgress[];
    do {
      await pause(5);
      progress = await askAll({ progress: true });
    } while (sumOf(progress, "handled") < events);
    const wallUs = ((performance.now() - startedAt) * 1_000) / events;
    // What is handled has still to be recorded; that belongs to the costs.
    progress = await askAll({ stop: true });
    const after = await readServer?.();
    const ofServer = (field: keyof ServerUse) =>
      before && after ? (after[field] - before[field]) / events : Number.NaN;
    const cpuUs = sumOf(progress, "cpuUs") / events;
    const serverCpuUs = ofServer("cpuUs");
    return {
      wallUs,
      perSecond: 1e6 / wallUs,
      cpuUs,
      serverCpuUs,
      totalCpuUs: cpuUs + serverCpuUs,
      commits: ofServer("commits"),
      bytesWritten: readServer ? ofServer("bytesWritten") : sumOf(progress, "bytesWritten") / events,
    };
  } finally {
    for (const child of children) await child[Symbol.asyncDispose]();
  }
}
