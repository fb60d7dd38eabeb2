// A query whose promise a handler does not await would be a write that the commit leaves behind, or an unhandled rejection,
// which ends the process. One rule, whatever the inbox: what a handler calls on its transaction is waited for before the
// commit, with what `then` and `finally` make of it; the attempt fails when one of these fails and nothing awaits it; and what
// is called after the handler has ended is rejected, for the caller alone. A promise of another function is that function's:
// where it is rejected and nothing handles it, Node ends the process.

import { isReceiverError, ReceiverError } from "../errors.ts";
import { firstWords, guarded } from "../inbox/handler-transaction.ts";

export interface HandlerQueriesOptions {
  /** For messages: `on("task.*"), for the event task.completed msg_1,`. */
  readonly handler: () => string;
  /** A call was rejected after the handler had ended, or had failed before and is found not to be awaited now. */
  onLate(query: string): void;
}

type AnyFunction = (...values: unknown[]) => unknown;

/** The calls of one handler on its transaction. */
export class HandlerQueries {
  readonly #options: HandlerQueriesOptions;
  /** Calls that have not settled, and what was derived of them. */
  #open = 0;
  #onAllSettled = () => {};
  readonly #failed: WatchedCall[] = [];
  #end: string | undefined;

  constructor(options: HandlerQueriesOptions) {
    this.#options = options;
  }

  /** `handle` with the promises of its functions watched, and those of a client's queries that one resolves to. */
  watch<Handle>(handle: Handle): Handle {
    if (typeof handle !== "object" || handle === null) return handle;
    // An object of its own: a handler may freeze it.
    const watched: Record<string, unknown> = {};
    for (const [name, member] of Object.entries(handle)) {
      watched[name] =
        typeof member === "function"
          ? (...values: unknown[]) => this.#call(name, () => Reflect.apply(member, handle, values), values)
          : member;
    }
    return watched as Handle;
  }

  #call(name: string, send: () => unknown, values: readonly unknown[]): unknown {
    const query = () => describeCall(name, values);
    if (this.#end !== undefined) return this.#track(query, Promise.reject(this.#tooLate(query(), this.#end)));
    const result = send();
    return result instanceof Promise ? this.#track(query, result) : result;
  }

  /** Such as the client of `pg`. */
  #watchClient(client: Client): Client {
    const send: AnyFunction = (...values) => client.query(...values);
    return guarded(client, {
      query: (...values: unknown[]) => {
        const [first] = values;
        const callback = values.at(-1);
        if (isSubmittable(first)) return this.#submit(client, first, send);
        if (typeof callback !== "function") return this.#call("query", () => send(...values), values);
        const given = values.slice(0, -1);
        const result = this.#call("query", () => send(...given), given) as Promise<unknown>;
        const called = result.then(
          (value) => callback(null, value),
          (error) => callback(error),
        );
        void this.#track(() => `the callback of ${describeCall("query", values)}`, called);
        return undefined;
      },
    });
  }

  /** A cursor or a stream reports by events; the others are the application's own. */
  #submit(client: Client, submitted: Submittable, send: AnyFunction): unknown {
    const query = () => describeCall("query", [submitted]);
    submitted.on?.("error", (error) => {
      if (submitted.listenerCount?.("error") === 1) void this.#track(query, Promise.reject(error));
    });
    if (this.#end === undefined) return send(submitted);
    const error = this.#tooLate(query(), this.#end);
    setImmediate(() => submitted.handleError?.(error, client.connection));
    return submitted;
  }

  #track(query: () => string, result: Promise<unknown>): QueryPromise<unknown> {
    const promise = new QueryPromise<unknown>((resolve, reject) => {
      result.then((value) => resolve(isClient(value) ? this.#watchClient(value) : value), reject);
    });
    this.#watch(promise, query, false);
    return promise;
  }

  #watch(promise: QueryPromise<unknown>, query: () => string, isDerived: boolean): void {
    const call: WatchedCall = {
      query,
      isAwaited: false,
      error: undefined,
      onDerived: (derived) => this.#watch(derived, query, true),
    };
    promise.watched = call;
    this.#open += 1;
    // Counted as it settles, so that nothing is waited for when each query was awaited.
    const settled = () => {
      this.#open -= 1;
      if (this.#open === 0) this.#onAllSettled();
    };
    promise.observe(settled, (error) => {
      call.error = error;
      this.#failed.push(call);
      settled();
      if (this.#end !== undefined && !isDerived) this.#options.onLate(query());
    });
  }

  /**
   * Called when the handler has returned: waits for the calls that are in progress, and for those that follow from them.
   * They may still be made until `end`.
   *
   * @throws {ReceiverError} `QUERY_NOT_AWAITED`
   */
  async settle(): Promise<void> {
    while (this.#open > 0) {
      await new Promise<void>((resolve) => {
        this.#onAllSettled = resolve;
      });
      await nextTurnOfTheLoop();
    }
    this.#throwIfUnawaited();
  }

  #throwIfUnawaited(): void {
    const unawaited = this.#failed.find(({ isAwaited }) => !isAwaited);
    if (!unawaited) return;
    // Neither counts as a failed attempt.
    if (isReceiverError(unawaited.error, "LEASE_LOST") || isReceiverError(unawaited.error, "SUPERSEDED"))
      throw unawaited.error;
    const message = `${this.#options.handler()} did not await ${unawaited.query()}, which failed: put await before it, and before the function that contains it`;
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
    const message = `the transaction of this event has ended: ${this.#options.handler()} ${how} before ${query} was called; await every query`;
    return new ReceiverError("TRANSACTION_ENDED", message);
  }
}

/** What is known of a call, or of a promise that was derived from its own. */
interface WatchedCall {
  /** Describes the call for a message. */
  readonly query: () => string;
  isAwaited: boolean;
  error: unknown;
  readonly onDerived: (derived: QueryPromise<unknown>) => void;
}

/** A promise that knows whether something awaits it. Each one is observed, so it is never an unhandled rejection itself. */
class QueryPromise<Value> extends Promise<Value> {
  watched: WatchedCall | undefined;

  /** `await` calls the `then` of a subclass, which it does not of a native promise. */
  // biome-ignore lint/suspicious/noThenProperty: whether it is called is what is asked
  override then<Fulfilled = Value, Rejected = never>(
    onFulfilled?: ((value: Value) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    const derived = super.then(onFulfilled, onRejected);
    if (this.watched) {
      this.watched.isAwaited = true;
      this.watched.onDerived(derived as QueryPromise<unknown>);
    }
    return derived;
  }

  /** Does not count as awaiting. */
  observe(onFulfilled: () => void, onRejected: (error: unknown) => void): void {
    void super.then(onFulfilled, onRejected);
  }
}

interface Client {
  query: AnyFunction;
  readonly connection?: unknown;
}

/** What `pg` sends by calling it: a query object, a cursor, a stream. */
interface Submittable {
  on?(event: "error", listener: (error: unknown) => void): unknown;
  listenerCount?(event: "error"): number;
  handleError?(error: unknown, connection: unknown): void;
}

const isClient = (value: unknown): value is Client =>
  typeof value === "object" && value !== null && "query" in value && typeof value.query === "function";

const isSubmittable = (value: unknown): value is Submittable =>
  typeof value === "object" && value !== null && "submit" in value;

function describeCall(name: string, [first]: readonly unknown[]): string {
  const statement = typeof first === "object" && first !== null && "text" in first ? first.text : first;
  const words = typeof statement === "string" ? firstWords(statement) : "";
  return words === "" ? `${name}()` : `${name}("${words} …")`;
}

const nextTurnOfTheLoop = () => new Promise<void>((resolve) => void setImmediate(resolve));
