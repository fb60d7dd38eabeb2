// Fake timers of a test runner replace the global timers. What the mock waits for in real time (sockets, time limits,
// turns of the event loop) passes without them, so it has the timers of Node, as they are when it is loaded. Wall time
// stays the global one: a receiver in the same process compares timestamps with it.

import { type Clock, createSystemClock } from "@workspace-tasks/kernel/clock.ts";

// A browser has no module of Node.
const builtin = globalThis.process?.getBuiltinModule;
const { setTimeout, clearTimeout, setImmediate = afterMessage } = builtin?.("node:timers") ?? globalThis;
const { performance } = builtin?.("node:perf_hooks") ?? globalThis;
const now = performance.now.bind(performance);

/** The clock of the machine, which fake timers do not stop. */
export const realClock: Clock = createSystemClock({ setTimeout, clearTimeout, performance: { now } });

/** One turn of the event loop: promises that the last timer resolved get to run. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** Replaces `setImmediate` in browsers, which lack it: a timer there takes four milliseconds. */
function afterMessage(run: () => void): void {
  const { port1, port2 } = new MessageChannel();
  const onmessage = () => {
    port1.close();
    run();
  };
  Object.assign(port1, { onmessage });
  port2.postMessage(null);
}

/**
 * Runs `run` once the process could have noticed a response for `limitMs`: however long it did not run meanwhile (a busy
 * machine, a long computation), that counts as one step of the limit, and what has arrived is read before the next step.
 * The returned function cancels it.
 */
export function scheduleAwakeLimit(clock: Clock, limitMs: number, run: () => void): () => void {
  const stepMs = Math.ceil(limitMs / steps);
  let cancel: () => void;
  const wait = (remainingMs: number) => {
    cancel = clock.schedule(Math.min(stepMs, remainingMs), () => {
      if (remainingMs > stepMs) wait(remainingMs - stepMs);
      else run();
    });
  };
  wait(limitMs);
  return () => cancel();
}

/** A response in this process takes some turns of the event loop: its connection, request, handler and body. */
const steps = 20;
