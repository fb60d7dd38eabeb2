// What the mock uses of a process of Node, and does without in a browser.

const { process } = globalThis as { process?: NodeJS.Process };
const events = process?.getBuiltinModule?.("node:events");

/** Reports a failure of the application's own function, which ends nothing. */
export function warn(error: unknown): void {
  if (process?.emitWarning) process.emitWarning(error instanceof Error ? error : String(error));
  else console.warn(error);
}

/** Node takes eleven listeners for a leak. */
export const allowManyListeners = (signal: AbortSignal): void => events?.setMaxListeners(0, signal);

const ioRequests = new Set(["FSReqCallback", "FSReqPromise", "GetAddrInfoReqWrap"]);

/** Whether this process reads or writes a file, or looks up a name. */
export const hasPendingIo = (): boolean =>
  process?.getActiveResourcesInfo?.().some((name) => ioRequests.has(name)) ?? false;
