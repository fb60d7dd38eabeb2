/** How often something occurred, by name. */
export interface Counts {
  add(name: string): void;
}

export interface DifferentialPart {
  /** What one case compares. */
  readonly what: string;
  /** Runs the case of a seed. Returns what is wrong, reduced as far as possible, or undefined. */
  runOne(seed: number, counts: Counts): Promise<string | undefined>;
}

export interface PartResult {
  readonly count: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly failure: string | undefined;
}

/** Runs the cases of the seeds from `from` until `isEnough` or a failure. */
export async function runPart(
  { runOne }: DifferentialPart,
  from: number,
  isEnough: (count: number) => boolean,
): Promise<PartResult> {
  const counts: Record<string, number> = {};
  const add = (name: string) => {
    counts[name] = (counts[name] ?? 0) + 1;
  };
  let count = 0;
  let failure: string | undefined;
  while (failure === undefined && !isEnough(count)) {
    failure = await runOne(from + count, { add });
    count += 1;
  }
  return { count, counts, failure };
}
