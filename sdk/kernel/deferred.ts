export interface Deferred<Value> {
  readonly promise: Promise<Value>;
  resolve(value: Value): void;
  reject(error: unknown): void;
}

/** A promise with its functions; `Promise.withResolvers` needs Node 22. */
export function deferred<Value = void>(): Deferred<Value> {
  let functions: Omit<Deferred<Value>, "promise"> | undefined;
  const promise = new Promise<Value>((resolve, reject) => {
    functions = { resolve, reject };
  });
  return { promise, ...(functions as Omit<Deferred<Value>, "promise">) };
}

/** Runs a task when those that were given before have settled. Each caller gets the result of its own. */
export function inSeries(): <Result>(task: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const result = last.then(task);
    last = result.catch(() => {});
    return result;
  };
}
