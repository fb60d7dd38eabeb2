import type { Schema } from "@workspace-tasks/kernel/schema.ts";
import { FailureError, failure, toError } from "../call/failure.ts";
import type { Operation, UntypedOperation } from "../call/operation.ts";
import { type CallOptions, checkCallOptions } from "../options.ts";
import type { ResponseDetails } from "../request/response-details.ts";
import { checkInput } from "../validation/check-input.ts";

/** A promise of the plain result that also has the metadata of its call. */
export interface Call<Result> extends Promise<Result> {
  /** Resolves to the result as `data`, and to how the call reached it as `meta`. Starts no second call. */
  withMeta(): Promise<ResultWithMeta<Result>>;
}

export interface ResultWithMeta<Result> {
  readonly data: Result;
  readonly meta: CallMeta;
}

/** How a call reached its result, and what its last response says besides the data. */
export interface CallMeta extends ResponseDetails {
  /** Requests sent for this call; token exchanges do not count. */
  readonly attempts: number;
  /** Time spent waiting for the rate limit. */
  readonly queuedMs: number;
  readonly httpStatus: number;
}

/** A call that has succeeded; its metadata is read when it is asked for. */
export interface SettledCall<Data> {
  readonly data: Data;
  readonly meta: () => CallMeta;
}

/** Sends an operation; token, rate limit, retries, timeout and deadline applied. The options are checked already. */
export type Execute = <Data, Variables>(
  operation: Operation<Data, Variables>,
  variables: Variables,
  options?: CallOptions,
) => Promise<SettledCall<Data>>;

/** Returns the checked input of the operation's method. Throws `WorkspaceTasksError`. */
export type Check = <Value>(schema: Schema<Value>, input: unknown) => Value;

/**
 * Starts a call. The variables may come from a function that checks the input; the result is what `pick` takes from the
 * response's data, by default the field of the operation. Every failure, also of these functions, rejects the promise.
 */
export type Send = <Data, Variables, Result = Data[keyof Data]>(
  operation: Operation<Data, Variables>,
  variables: Variables | ((check: Check) => Variables),
  options: CallOptions | undefined,
  pick?: (data: Data) => Result,
) => Call<Result>;

export function createSend(execute: Execute): Send {
  return (
    operation,
    variables,
    options,
    pick = (data) => Reflect.get(data as object, operation.field ?? ""),
  ) => {
    const run = async () => {
      const call = options === undefined ? undefined : checkCallOptions(operation.method, options);
      const check: Check = (schema, input) => checkInput(operation.method, schema, input);
      const checked =
        typeof variables === "function"
          ? (variables as (check: Check) => typeof variables)(check)
          : variables;
      const { data, meta } = await execute(operation, checked as never, call);
      return { data: readResult(operation, () => pick(data), meta), meta };
    };
    return toCall(run());
  };
}

/** The service sends every field that a generated document asks for, or an error. */
function readResult<Result>(operation: UntypedOperation, read: () => Result, meta: () => CallMeta): Result {
  const outcome = operation.kind === "mutation" ? "unknown" : "rejected";
  const message = "expected a response with all fields of the document, got one without some";
  let found = failure("RESPONSE_INVALID", message, { outcome });
  try {
    const result = read();
    if (result !== undefined && result !== null) return result;
  } catch (error) {
    if (error instanceof FailureError) found = error.failure;
  }
  const { attempts, ...details } = meta();
  throw toError({ ...details, ...found }, { attempts, operation });
}

export function toCall<Result>(result: Promise<SettledCall<Result>>): Call<Result> {
  const plain = result.then(({ data }) => data);
  return Object.assign(plain, {
    withMeta() {
      // The caller awaits the other promise now; this one must not count as unhandled.
      plain.catch(() => {});
      return result.then(({ data, meta }) => ({ data, meta: meta() }));
    },
  });
}
