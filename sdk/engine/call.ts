import type { Operation } from "../call/operation.ts";
import type { CallOptions } from "../options.ts";
import type { Engine, ResultWithMeta } from "./engine.ts";

/** A promise of the plain result that can also tell how it came about. */
export interface Call<Result> extends Promise<Result> {
  /** The same call, not a second one: its result as `data`, and attempts, queue time and `Retry-After` seen as `meta`. */
  withMeta(): Promise<ResultWithMeta<Result>>;
}

/** One operation with what to send and what to take out of the answer. */
export interface CallPlan<Answer, Variables, Result> {
  readonly operation: Operation<Answer, Variables>;
  /** Checks the arguments and makes variables of them; what it throws rejects the call. */
  variables(): Variables;
  result(answer: Answer): Result;
}

/** Starts a call. Whatever goes wrong, bad arguments included, rejects the promise. */
export function startCall<Answer, Variables, Result>(
  engine: Engine,
  plan: CallPlan<Answer, Variables, Result>,
  options: CallOptions | undefined,
): Call<Result> {
  return toCall(run());

  async function run(): Promise<ResultWithMeta<Result>> {
    const { data, meta } = await engine.executeWithMeta(plan.operation, plan.variables(), options);
    return { data: plan.result(data), meta };
  }
}

/** Makes a call of a promise that already carries its meta data. */
export function toCall<Result>(executed: Promise<ResultWithMeta<Result>>): Call<Result> {
  const plain = executed.then(({ data }) => data);
  return Object.assign(plain, {
    withMeta() {
      // Whoever asks for the meta data waits on that promise; the plain one must not count as unhandled.
      plain.catch(() => {});
      return executed;
    },
  });
}
