/** Processor time of this process in ms: other work of the machine does not count. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/**
 * How many times the processor time of `run(small)` the one of `run(10 * small)` is: 10 when it grows linearly, 100 when
 * it grows with the square. The least of five each: a garbage collection happens to some. Compare with 40.
 */
export async function growthOf(small: number, run: (size: number) => unknown): Promise<number> {
  const leastMs = async (size: number) => {
    let least = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 5; round += 1) {
      const startedMs = cpuMs();
      await run(size);
      least = Math.min(least, cpuMs() - startedMs);
    }
    return least;
  };
  await run(small);
  // What takes less than a millisecond cannot be measured.
  return (await leastMs(10 * small)) / Math.max(1, await leastMs(small));
}
