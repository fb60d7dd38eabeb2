import type { Clock } from "@workspace-tasks/kernel/clock.ts";

export interface Limit {
  readonly limitMs: number;
  readonly clock: Clock;
}

/** Rejects with the error of `onLimit` when `work` takes longer than the limit. */
export function limited<Result>(
  work: Promise<Result>,
  { limitMs, clock }: Limit,
  onLimit: () => Error,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    let isSettled = false;
    const cancel = clock.schedule(limitMs, () =>
      // The response may already be in the socket, when it was this process that was busy.
      setImmediate(() => {
        if (!isSettled) reject(onLimit());
      }),
    );
    const settle = () => {
      isSettled = true;
      cancel();
    };
    work.then(
      (result) => {
        settle();
        resolve(result);
      },
      (error: unknown) => {
        settle();
        reject(error);
      },
    );
  });
}
