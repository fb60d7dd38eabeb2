// A query whose promise a handler does not await would be a write that the commit leaves behind, or an unhandled rejection,
// which ends the process. One rule, whatever the inbox: what a handler calls on its transaction is waited for before the
// commit; the attempt fails when one of these calls fails and nothing awaits it; and what is called after the handler has
// ended is rejected, for the caller alone.

import { isReceiverError, ReceiverError } from "../errors.ts";
import { firstWords } from "../inbox/sql/first-words.ts";
import { catchUnhandled } from "./unhandled-errors.ts";

export interface HandlerQueriesOptions {
  /** For messages: `the handler of "task.*", for event task.completed (msg_1)`. */
  readonly handler: string;
  /** A call was rejected after the handler had ended. */
  onLate(query: string): void;
}

type AnyFunction = (...values: unknown[]) => unknown;
type MethodCall = [method: AnyFunction, values: unknown[]];

/** The calls of one handler on its transaction. */
export class HandlerQueries {
  readonly #options: HandlerQueriesOptions;
  readonly #open = new Set<Promise<void>>();
  readonly #failed: QueryPromise<unknown>[] = [];
  /** The first one that failed in a promise of the application which nothing awaits. */
  #unhandled: QueryPromise<unknown> | undefined;
  #end: string | undefined;

  constructor(options: HandlerQueriesOptions) {
    this.#options = options;
  }

  /** `target` with the promises of its functions watched, and those of a client's queries that one resolves to. */
  watch<Target>(target: Target): Target {
    if (typeof target !== "object" || target === null) return target;
    return this.#proxy(target, (name, method, values) => this.#call(name, method, values));
  }

  /** Such as the client of `pg`. A query with a callback reports to that alone. */
  #watchClient<Client extends object>(client: Client): Client {
    return this.#proxy(client, (name, method, values) => {
      const isWatched = name === "query" && typeof values.at(-1) !== "function";
      return isWatched ? this.#call(name, method, values) : method(...values);
    });
  }

  #proxy<Target extends object>(
    target: Target,
    call: (name: string, ...rest: MethodCall) => unknown,
  ): Target {
    return new Proxy(target, {
      get(_, property) {
        const member: unknown = Reflect.get(target, property, target);
        if (typeof member !== "function" || isFixed(target, property)) return member;
        return new Proxy(member as AnyFunction, {
          apply: (method, _this, values) => call(String(property), method.bind(target), values),
        });
      },
    });
  }

  #call(name: string, ...[method, values]: MethodCall): unknown {
    const query = describeCall(name, values);
    if (this.#end !== undefined) return this.#track(query, Promise.reject(this.#tooLate(query, this.#end)));
    const result = method(...values);
    return result instanceof Promise ? this.#track(query, result) : result;
  }

  #track(query: string, result: Promise<unknown>): QueryPromise<unknown> {
    const watched = new QueryPromise<unknown>((resolve, reject) => {
      result.then((value) => resolve(isClient(value) ? this.#watchClient(value) : value), reject);
    });
    watched.query = query;
    const settled = watched
      .observe((error) => this.#onFailed(watched, error))
      .then(() => {
        this.#open.delete(settled);
      });
    this.#open.add(settled);
    return watched;
  }

  #onFailed(query: QueryPromise<unknown>, error: unknown): void {
    query.error = error;
    if (this.#end !== undefined) this.#options.onLate(query.query);
    else this.#failed.push(query);
    catchUnhandled(error, () => {
      this.#unhandled ??= query;
    });
  }

  /**
   * Called when the handler has returned: waits for the calls that are in progress, and for those that follow from them.
   * They may still be made until `end`.
   *
   * @throws {ReceiverError} `QUERY_NOT_AWAITED`
   */
  async settle(): Promise<void> {
    while (this.#open.size > 0) {
      await Promise.all(this.#open);
      await nextTurnOfTheLoop();
    }
    // By then Node has reported a promise without a handler.
    if (this.#failed.length > 0) await nextTurnOfTheLoop();
    this.#throwIfUnawaited();
  }

  #throwIfUnawaited(): void {
    const unawaited = this.#failed.find(({ isAwaited }) => !isAwaited) ?? this.#unhandled;
    if (!unawaited) return;
    // Neither counts as a failed attempt.
    if (isReceiverError(unawaited.error, "LEASE_LOST") || isReceiverError(unawaited.error, "SUPERSEDED"))
      throw unawaited.error;
    const message = `${this.#options.handler} did not await ${unawaited.query}, which failed: put await before it, and before the function that contains it`;
    throw new ReceiverError("QUERY_NOT_AWAITED", message, { cause: unawaited.error });
  }

  /** Called when the handler has thrown: the cause of `error` may be an earlier query that nothing awaited. */
  throwCauseOf(error: unknown): never {
    if (this.#failed.some((query) => query.error === error)) this.#throwIfUnawaited();
    throw error;
  }

  /** From now on every call is rejected. `how` is for the message, such as `had returned`. */
  end(how: string): void {
    this.#end ??= how;
  }

  #tooLate(query: string, how: string): ReceiverError {
    const { handler } = this.#options;
    const message = `the transaction of this event has ended: ${handler} ${how} before ${query} was called; await every query`;
    return new ReceiverError("TRANSACTION_ENDED", message);
  }
}

/** A promise that knows whether something awaits it, and is never an unhandled rejection itself. */
class QueryPromise<Value> extends Promise<Value> {
  /** `await` calls the `then` of a subclass, which it does not of a native promise. */
  isAwaited = false;
  query = "";
  error: unknown;

  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  // biome-ignore lint/suspicious/noThenProperty: whether it is called is what is asked
  override then<Fulfilled = Value, Rejected = never>(
    onFulfilled?: ((value: Value) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    this.isAwaited = true;
    return super.then(onFulfilled, onRejected);
  }

  /** Resolves when it has settled, and does not count as awaiting. */
  observe(onRejected: (error: unknown) => void): Promise<void> {
    return super.then(() => {}, onRejected);
  }
}

/** A proxy may not show another value for it. */
const isFixed = (target: object, property: PropertyKey) =>
  Object.getOwnPropertyDescriptor(target, property)?.configurable === false;

const isClient = (value: unknown): value is object =>
  typeof value === "object" && value !== null && "query" in value && typeof value.query === "function";

function describeCall(name: string, [first]: readonly unknown[]): string {
  const statement = typeof first === "object" && first !== null && "text" in first ? first.text : first;
  const words = typeof statement === "string" ? firstWords(statement) : "";
  return words === "" ? `${name}()` : `${name}("${words} …")`;
}

const nextTurnOfTheLoop = () => new Promise<void>((resolve) => void setImmediate(resolve));
