/** The median and the quartiles. */
export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** One measurement per round, by what is measured. */
export type Rounds<Key, Field extends string> = ReadonlyMap<Key, readonly Readonly<Record<Field, number>>[]>;

export function spreadOf(values: readonly number[]): Spread {
  return { median: quantile(values, 0.5), low: quantile(values, 0.25), high: quantile(values, 0.75) };
}

export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * part;
  const below = sorted[Math.floor(at)] ?? Number.NaN;
  const above = sorted[Math.ceil(at)] ?? Number.NaN;
  return below + (above - below) * (at - Math.floor(at));
}

export function spreadIn<Key, Field extends string>(
  rounds: Rounds<Key, Field>,
  key: Key,
  field: Field,
  scale = 1,
): Spread {
  return spreadOf((rounds.get(key) ?? []).map((measurement) => measurement[field] * scale));
}

export function medianIn<Key, Field extends string>(
  rounds: Rounds<Key, Field>,
  key: Key,
  field: Field,
): number {
  return spreadIn(rounds, key, field).median;
}

/** How many times as much `other` takes as `ours`, round by round. */
export function ratioIn<Key, Field extends string>(
  rounds: Rounds<Key, Field>,
  ours: Key,
  other: Key,
  field: Field,
): Spread {
  return compare(rounds, ours, other, field, (mine, theirs) => theirs / mine);
}

/** How much more `ours` takes than `other`, round by round. */
export function differenceIn<Key, Field extends string>(
  rounds: Rounds<Key, Field>,
  ours: Key,
  other: Key,
  field: Field,
): Spread {
  return compare(rounds, ours, other, field, (mine, theirs) => mine - theirs);
}

function compare<Key, Field extends string>(
  rounds: Rounds<Key, Field>,
  ours: Key,
  other: Key,
  field: Field,
  by: (mine: number, theirs: number) => number,
): Spread {
  const theirs = rounds.get(other) ?? [];
  return spreadOf(
    (rounds.get(ours) ?? []).map((mine, round) => by(mine[field], theirs[round]?.[field] ?? Number.NaN)),
  );
}
