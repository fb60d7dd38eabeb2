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
