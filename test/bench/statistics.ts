/** The median and the quartiles. */
export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** One measurement per round, by what is measured. */
export type Rounds<Field extends string> = ReadonlyMap<unknown, readonly Readonly<Record<Field, number>>[]>;

export function spreadOf(values: readonly number[]): Spread {
  return { median: quantile(values, 0.5), low: quantile(values, 0.25), high: quantile(values, 0.75) };
}

export function scaled({ median, low, high }: Spread, by: number): Spread {
  return { median: median * by, low: low * by, high: high * by };
}

export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * part;
  const below = sorted[Math.floor(at)] ?? Number.NaN;
  const above = sorted[Math.ceil(at)] ?? Number.NaN;
  return below + (above - below) * (at - Math.floor(at));
}

export function spreadIn<Field extends string>(rounds: Rounds<Field>, key: unknown, field: Field): Spread {
  return spreadOf(valuesIn(rounds, key, field));
}

export function medianIn<Field extends string>(rounds: Rounds<Field>, key: unknown, field: Field): number {
  return spreadIn(rounds, key, field).median;
}

const compare =
  (difference: (ours: number, other: number) => number) =>
  <Field extends string>(rounds: Rounds<Field>, ours: unknown, other: unknown, field: Field): Spread => {
    const theirs = valuesIn(rounds, other, field);
    const mine = valuesIn(rounds, ours, field);
    return spreadOf(mine.map((value, round) => difference(value, theirs[round] ?? Number.NaN)));
  };

/** How many times as much `other` takes as `ours`, round by round. */
export const ratioIn = compare((ours, other) => other / ours);

/** How much more `ours` takes than `other`, round by round. */
export const differenceIn = compare((ours, other) => ours - other);

/** How many times as much `ours` takes over `base` as `other` does, round by round. */
export function excessIn<Field extends string>(
  rounds: Rounds<Field>,
  ours: unknown,
  other: unknown,
  base: unknown,
  field: Field,
): Spread {
  const theirs = valuesIn(rounds, other, field);
  const bases = valuesIn(rounds, base, field);
  return spreadOf(
    valuesIn(rounds, ours, field).map((value, round) => {
      const least = bases[round] ?? Number.NaN;
      return (value - least) / ((theirs[round] ?? Number.NaN) - least);
    }),
  );
}

function valuesIn<Field extends string>(rounds: Rounds<Field>, key: unknown, field: Field) {
  return (rounds.get(key) ?? []).map((measurement) => measurement[field]);
}

export interface InTurnsOptions {
  readonly rounds: number;
  /** Measured first and left out. */
  readonly warmUpRounds?: number | undefined;
}

/**
 * Measures each key once per round; every other round in the opposite order. The machine is shared with other
 * programs, so what is compared has to be measured within the same minutes.
 */
export async function inTurns<Key, Measurement>(
  keys: readonly Key[],
  { rounds, warmUpRounds = 0 }: InTurnsOptions,
  measure: (key: Key, round: number) => Measurement | Promise<Measurement>,
): Promise<ReadonlyMap<Key, readonly Measurement[]>> {
  const measured = new Map<Key, Measurement[]>(keys.map((key) => [key, []]));
  for (let round = -warmUpRounds; round < rounds; round++) {
    for (const key of round % 2 === 0 ? keys : keys.toReversed()) {
      const measurement = await measure(key, round);
      if (round >= 0) measured.get(key)?.push(measurement);
    }
  }
  return measured;
}
