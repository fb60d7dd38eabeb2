/** Time per operation. */
export interface Sample {
  readonly cpuUs: number;
  readonly wallUs: number;
}

/** Starts to measure this process; the returned function gives the time since then. */
export function startMeter(): (operations?: number) => Sample {
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  return (operations = 1) => {
    const wallMs = performance.now() - startedAt;
    const { user, system } = process.cpuUsage(cpu);
    return { cpuUs: (user + system) / operations, wallUs: (wallMs * 1_000) / operations };
  };
}

/** Bytes in use after a collection; needs `--expose-gc`. */
export function heapBytes(): number {
  for (let round = 0; round < 3; round++) globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}
