// Whatever talks to the outside can fail at every single call. A sweep plays a scenario once to count its calls and
// then once more for each of them, with that one failing: before it took effect, or after, so that nobody can tell.

export const failureMoments = ["before its effect", "after its effect"] as const;
export type FailureMoment =
  | (typeof failureMoments)[number]
  /** It took effect, and its answer never comes; for callers that limit how long they wait. */
  | "without end";

/** The calls of one play. */
export interface Calls {
  readonly count: number;
  /** What was called, in order. */
  readonly names: readonly string[];
  /** Runs one call; the chosen one fails. */
  through<Result>(name: string, call: () => Promise<Result>): Promise<Result>;
  /** The same for calls that do not wait. */
  throughNow<Result>(name: string, call: () => Result): Result;
}

export type Failure = { readonly at: number; readonly moment: FailureMoment };

export function countCalls(
  failure?: Failure,
  error: () => Error = () => new Error("this call failed"),
): Calls {
  const names: string[] = [];
  const failsNow = (moment: FailureMoment) => failure?.at === names.length && failure.moment === moment;
  return {
    names,
    get count() {
      return names.length;
    },
    async through(name, call) {
      names.push(name);
      if (failsNow("before its effect")) throw error();
      const failsLater = failsNow("after its effect");
      const hangs = failsNow("without end");
      const result = await call();
      if (hangs) await new Promise(() => {});
      if (failsLater) throw error();
      return result;
    },
    throughNow(name, call) {
      names.push(name);
      if (failsNow("before its effect")) throw error();
      const failsLater = failsNow("after its effect");
      const result = call();
      if (failsLater) throw error();
      return result;
    },
  };
}

export type Swept = { readonly plays: number; readonly calls: readonly string[] };

/** Plays the scenario for every call and both moments. What it throws is told with the call that failed. */
export async function sweep(
  play: (calls: Calls) => Promise<void>,
  {
    moments = failureMoments as readonly FailureMoment[],
    error = (): Error => new Error("this call failed"),
  } = {},
): Promise<Swept> {
  const undisturbed = countCalls();
  await play(undisturbed);
  let plays = 1;
  for (const moment of moments) {
    for (let at = 1; at <= undisturbed.count; at++) {
      const calls = countCalls({ at, moment }, error);
      plays += 1;
      await play(calls).catch((cause: unknown) => {
        const text = cause instanceof Error ? cause.message : String(cause);
        throw new Error(`call ${at} (${undisturbed.names[at - 1]}) failed ${moment}: ${text}`, { cause });
      });
    }
  }
  return { plays, calls: undisturbed.names };
}
