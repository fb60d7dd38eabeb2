import { AsyncResource } from "node:async_hooks";

const outside = new AsyncResource("workspace-tasks-receiver");

/**
 * Runs what continues after its caller has ended, such as a loop that polls, outside of the caller's trace: a trace that lasts as
 * long as the process has no end.
 */
export const inBackground = <Result>(run: () => Result): Result => outside.runInAsyncScope(run);
