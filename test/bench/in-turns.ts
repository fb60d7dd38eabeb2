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
