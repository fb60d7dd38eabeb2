// What the mock uses of a process of Node, and does without in a browser.

import { isError } from "@workspace-tasks/kernel/realm.ts";

const { process } = globalThis as { process?: NodeJS.Process };
const events = process?.getBuiltinModule?.("node:events");

/** Reports a failure of the application's own function, which ends nothing. */
export function warn(error: unknown): void {
  // It is sent as text: Node takes errors of its own realm only, and tests run in another one.
  if (!process?.emitWarning) console.warn(error);
  else if (isError(error)) process.emitWarning(error.message, error.name);
  else process.emitWarning(String(error));
}

/** Node takes eleven listeners for a leak; those of a DOM environment's signal it does not count. */
export function allowManyListeners(signal: AbortSignal): void {
  try {
    events?.setMaxListeners(0, signal);
  } catch {
    // Not a signal of Node.
  }
}

const ioRequests = new Set(["FSReqCallback", "FSReqPromise", "GetAddrInfoReqWrap"]);

/** Whether this process reads or writes a file, or looks up a name. */
export const hasPendingIo = (): boolean =>
  process?.getActiveResourcesInfo?.().some((name) => ioRequests.has(name)) ?? false;
