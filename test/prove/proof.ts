/** What a part of `npm run prove` is given. */
export interface Proof {
  /** Time that is left for the part, in ms; 0 or less when it has none. */
  leftMs(): number;
  /** Prints what was checked; the run fails when it does not hold. */
  report(holds: boolean, text: string): void;
}

/** The steps of a counterexample below the line that names it. */
export const indented = (text: string) => text.replaceAll(/^/gm, "    ");

/** To capture the stacks of all errors takes a tenth of the time of a seed. */
export async function withoutStacks<Result>(run: () => Promise<Result>): Promise<Result> {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return await run();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
