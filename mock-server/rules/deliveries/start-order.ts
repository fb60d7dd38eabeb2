import { createQueue } from "./queue.ts";

/** Calls `done` with the result of `work`. */
export type WhenDone<Result> = (work: Promise<Result>, done: (result: Result) => void) => void;

/**
 * Results in the order in which their work started: what follows from them does not depend on which socket responded
 * first.
 */
export function inStartOrder<Result>(): WhenDone<Result> {
  const started = createQueue<{ finish: (() => void) | null }>();

  const finishReady = () => {
    for (let entry = started.peek(); entry?.finish; entry = started.peek()) {
      started.take();
      entry.finish();
    }
  };

  return (work, done) => {
    const entry: { finish: (() => void) | null } = { finish: null };
    started.put(entry);
    void work.then((result) => {
      entry.finish = () => done(result);
      finishReady();
    });
  };
}

/** Results as they arrive. */
export const asTheyArrive: WhenDone<() => void> = (work, done) => void work.then(done);
