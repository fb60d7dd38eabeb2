/** How often something occurred, by name. */
export interface Counts {
  add(name: string): void;
}

export interface DifferentialPart {
  readonly name: string;
  /** What one case compares. */
  readonly what: string;
  /** How many cases are enough. */
  readonly goal: number;
  /** Runs the case of a seed. Returns what is wrong, reduced as far as possible, or undefined. */
  runOne(seed: number, counts: Counts): Promise<string | undefined>;
}

export interface PartResult {
  /** The first seed that has not run. */
  next: number;
  count: number;
  counts: Record<string, number>;
  failure?: string;
}

export const createPartResult = (from = 1): PartResult => ({ next: from, count: 0, counts: {} });

/** Runs cases until `isEnough` or a failure. */
export async function runPart(
  { runOne }: DifferentialPart,
  result: PartResult,
  isEnough: (result: PartResult) => boolean,
): Promise<void> {
  const { counts } = result;
  const add = (name: string) => {
    counts[name] = (counts[name] ?? 0) + 1;
  };
  while (result.failure === undefined && !isEnough(result)) {
    const failure = await runOne(result.next, { add });
    result.next += 1;
    result.count += 1;
    if (failure !== undefined) result.failure = failure;
  }
}
