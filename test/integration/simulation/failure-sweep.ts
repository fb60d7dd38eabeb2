// Every call to a database can fail. A sweep runs a scenario once to count its calls, and then once more
// for each of them, with that call failing: before it took effect, or after, so that the caller cannot know the outcome.

export const failureMoments = ["before its effect", "after its effect"] as const;
type FailureMoment = (typeof failureMoments)[number];

/** The calls of one run. */
export interface Calls {
  readonly count: number;
  /** Names of the calls, in order. */
  readonly names: readonly string[];
  /** Runs one call; the chosen one fails. */
  through<Result>(name: string, call: () => Result): Result;
}

interface Failure {
  readonly at: number;
  readonly moment: FailureMoment;
}

function countCalls(error: () => Error, failure?: Failure): Calls {
  const names: string[] = [];
  return {
    names,
    get count() {
      return names.length;
    },
    through(name, call) {
      names.push(name);
      const moment = failure?.at === names.length ? failure.moment : undefined;
      if (moment === "before its effect") throw error();
      const result = call();
      if (moment === "after its effect") throw error();
      return result;
    },
  };
}

export interface SweepOptions {
  /** Of a call that fails. */
  readonly error: () => Error;
  /** Of how many calls one fails: each moment begins with another one. */
  readonly stride: number;
  /** The name of the calls that fail. Default: all. */
  readonly failing?: string | undefined;
}

export interface SweepResult {
  readonly runs: number;
  readonly calls: readonly string[];
}

/** Runs the scenario for the calls and every moment. Its error is thrown again with the name of the failed call. */
export async function sweep(
  scenario: (calls: Calls) => Promise<void>,
  { error, stride, failing }: SweepOptions,
): Promise<SweepResult> {
  const undisturbed = countCalls(error);
  await scenario(undisturbed);
  let runs = 1;
  for (const [index, moment] of failureMoments.entries()) {
    for (let at = 1 + (index % stride); at <= undisturbed.count; at += stride) {
      if (failing !== undefined && undisturbed.names[at - 1] !== failing) continue;
      runs += 1;
      await scenario(countCalls(error, { at, moment })).catch((cause: unknown) => {
        const text = cause instanceof Error ? cause.message : String(cause);
        throw new Error(`call ${at} (${undisturbed.names[at - 1]}) failed ${moment}: ${text}`, { cause });
      });
    }
  }
  return { runs, calls: undisturbed.names };
}
