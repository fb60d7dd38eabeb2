// The machine is shared with whatever else runs on it, so absolute times say little. What is compared runs in turns
// within one minute; each round gives one ratio, and the median of the ratios is the claim. Time is that of the
// processor: waiting for another program is not counted. Each contender has a process of its own, where no other's
// garbage is cleared away and no other's use of the same functions makes them slower.

import { ContenderProcess } from "./contender-process.ts";

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

/**
 * Runs contenders in turns; the order is turned around every other round.
 *
 * @param file below `bench/`; exports `contenders`
 * @param argument given to it
 */
export async function alternate(
  file: string,
  argument: string,
  names: readonly string[],
  { rounds, roundMs }: AlternateOptions,
): Promise<Samples> {
  const processes: ContenderProcess[] = [];
  try {
    for (const name of names) processes.push(await ContenderProcess.start(file, argument, name));
    const counts = new Map<ContenderProcess, number>();
    for (const each of processes) counts.set(each, await operationsIn(each, roundMs));
    const samples = new Map<string, Sample[]>(names.map((name) => [name, []]));
    for (let round = 0; round < rounds; round++) {
      for (const each of round % 2 === 0 ? processes : processes.toReversed()) {
        samples.get(each.name)?.push(await each.run(counts.get(each) ?? 1));
      }
    }
    return samples;
  } finally {
    for (const each of processes) await each[Symbol.asyncDispose]();
  }
}

/** How often a contender fits into a round, found while it warms up. */
async function operationsIn(contender: ContenderProcess, roundMs: number): Promise<number> {
  for (let count = 1; ; count *= 2) {
    const { cpuUs } = await contender.run(count);
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
