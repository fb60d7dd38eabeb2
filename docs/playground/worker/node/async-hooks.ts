// What the receiver kit uses of `node:async_hooks`: a page follows no traces.

export class AsyncResource {
  runInAsyncScope<Result>(run: () => Result): Result {
    return run();
  }
}
