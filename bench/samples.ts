// The machine is shared with whatever else runs on it, so absolute times say little. What is compared runs in turns
// within one process and one minute; each round gives one ratio, and the median of the ratios is the claim. Time is
// that of the processor: waiting for another program is not counted.

export type Contender = {
  readonly name: string;
  /** Does the work `count` times. */
  run(count: number): void | Promise<void>;
};

export type Sample = {
  /** Processor time per operation, in microseconds. */
  readonly cpuUs: number;
  readonly wallUs: number;
};

/** One sample per round, by contender. */
export type Samples = ReadonlyMap<string, readonly Sample[]>;

export type AlternateOptions = {
  readonly rounds: number;
  /** Processor time that one contender spends per round. */
  readonly roundMs: number;
};

/** Runs the contenders in turns; the order is turned around every other round. */
export async function alternate(
  contenders: readonly Contender[],
  { rounds, roundMs }: AlternateOptions,
): Promise<Samples> {
  const counts = new Map<string, number>();
  for (const contender of contenders) counts.set(contender.name, await operationsIn(contender, roundMs));
  const samples = new Map<string, Sample[]>(contenders.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const contender of round % 2 === 0 ? contenders : contenders.toReversed()) {
      const sample = await take(contender, counts.get(contender.name) ?? 1);
      samples.get(contender.name)?.push(sample);
    }
  }
  return samples;
}

async function take(contender: Contender, count: number): Promise<Sample> {
  // What one contender leaves behind is not the next one's to clear away, and the caches are warm for each alike.
  globalThis.gc?.();
  await contender.run(Math.ceil(count / 5));
  const cpu = process.cpuUsage();
  const wall = performance.now();
  await contender.run(count);
  const { user, system } = process.cpuUsage(cpu);
  return { cpuUs: (user + system) / count, wallUs: ((performance.now() - wall) * 1_000) / count };
}

/** How often a contender fits into a round, found while it warms up. */
async function operationsIn(contender: Contender, roundMs: number): Promise<number> {
  for (let count = 1; ; count *= 2) {
    const { cpuUs } = await take(contender, count);
    const spentMs = (cpuUs * count) / 1_000;
    if (spentMs >= roundMs / 2) return Math.max(1, Math.round((count * roundMs) / spentMs));
  }
}

export type Spread = { readonly median: number; readonly low: number; readonly high: number };

/** The median, and between which values the middle half lies. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  return { median: quantile(sorted, 0.5), low: quantile(sorted, 0.25), high: quantile(sorted, 0.75) };
}

function quantile(sorted: readonly number[], part: number): number {
  const at = (sorted.length - 1) * part;
  const below = sorted[Math.floor(at)] ?? Number.NaN;
  const above = sorted[Math.ceil(at)] ?? Number.NaN;
  return below + (above - below) * (at - Math.floor(at));
}

/** How many times as much `other` takes, round by round. */
export function ratioOf(
  samples: Samples,
  ours: string,
  other: string,
  measure: keyof Sample = "cpuUs",
): Spread {
  const mine = samples.get(ours) ?? [];
  const theirs = samples.get(other) ?? [];
  return spreadOf(mine.map((sample, round) => (theirs[round]?.[measure] ?? Number.NaN) / sample[measure]));
}

export function medianOf(samples: Samples, name: string, measure: keyof Sample = "cpuUs"): number {
  return spreadOf((samples.get(name) ?? []).map((sample) => sample[measure])).median;
}
