export interface DifferentialPart {
  /** What one case compares. */
  readonly what: string;
  /** Runs the case of a seed, and names to `meet` what occurred in it. Returns what is wrong, or undefined. */
  runOne(seed: number, meet: (name: string) => void): Promise<string | undefined>;
}

export interface PartResult {
  readonly count: number;
  /** What occurred in some case. */
  readonly met: ReadonlySet<string>;
  readonly failure: string | undefined;
}

/** Runs the cases of the seeds from `from` until `isEnough` or a failure. */
export async function runPart(
  { runOne }: DifferentialPart,
  from: number,
  isEnough: (count: number) => boolean,
): Promise<PartResult> {
  const met = new Set<string>();
  let count = 0;
  let failure: string | undefined;
  while (failure === undefined && !isEnough(count)) {
    failure = await runOne(from + count, (name) => met.add(name));
    count += 1;
  }
  return { count, met, failure };
}
