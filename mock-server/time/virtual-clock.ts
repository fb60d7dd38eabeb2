import { checkValue, number } from "../check-options.ts";
import type { Clock } from "./clock.ts";
import { checkDurationMs } from "./duration.ts";
import { createHeap } from "./heap.ts";

/**
 * Time that moves only by `advance`.
 *
 * `advance` runs timers in the order (due time, order of scheduling). Work that a timer starts (a delivery on a real
 * socket, a handler in this process) is registered with `track`; the next instant starts only when all tracked work
 * has settled, so virtual time never overtakes real sockets. Concurrent calls of `advance` run one after the other.
 */
export interface VirtualClock extends Clock {
  /** Wall time at the start. */
  readonly startMs: number;
  /**
   * Moves time forward by milliseconds or text such as `"3m"`, `"7d"`; resolves with the number of timers that fired.
   * A receiver must not await it before it responds to a delivery: `advance` waits for that response.
   */
  advance(by: number | string): Promise<number>;
  /** Resolves when all tracked work has settled and nothing more is due now. */
  settle(): Promise<void>;
  /** Makes `advance` and `settle` wait for `work`, and returns it. */
  track<Result>(work: Promise<Result>): Promise<Result>;
  /** Sets wall time without firing timers; monotonic time is unaffected. */
  setNow(nowMs: number): void;
  /** Number of scheduled timers, and when the next is due. */
  pending(): { readonly timers: number; readonly nextAtMs: number | null };
}

type Timer = { readonly dueMs: number; readonly order: number; run: (() => void) | null };

/**
 * @example examples/mock-server.test.ts#shared-clock
 * ```ts
 * it("a client and the mock have one virtual clock", async () => {
 *   const clock = createVirtualClock();
 *   await using mock = await createMockServer({ listen: false, clock });
 *   const { apiKey, baseUrl, fetch } = mock;
 *   await using client = createClient({ apiKey, baseUrl, fetch, clock });
 *   await client.me();
 *   await clock.advance(86_400_000); // the token has expired: the client exchanges the key again
 *   expect((await client.me()).__typename).toBe("WorkspaceUser");
 * });
 * ```
 *
 * @param startMs wall time at the start. Default: 2026-01-15T12:00:00Z, so that equal runs have equal times.
 */
export function createVirtualClock(startMs = Date.UTC(2026, 0, 15, 12)): VirtualClock {
  checkValue("createVirtualClock", "startMs", startMs, number);
  // Timers use monotonic time, so that `setNow` cannot move them.
  const timers = createTimerHeap();
  const inFlight = new Set<Promise<unknown>>();
  let elapsedMs = 0;
  let offsetMs = startMs;
  let order = 0;
  let advancing: Promise<unknown> = Promise.resolve();

  const schedule: Clock["schedule"] = (delayMs, run) => {
    const timer: Timer = { dueMs: elapsedMs + Math.max(0, delayMs), order: order++, run };
    timers.push(timer);
    return () => {
      if (timer.run) timers.forget();
      timer.run = null;
    };
  };

  const track = <Result>(work: Promise<Result>): Promise<Result> => {
    const settled: Promise<unknown> = work.then(
      () => inFlight.delete(settled),
      () => inFlight.delete(settled),
    );
    inFlight.add(settled);
    return work;
  };

  const quiet = async () => {
    do {
      await turn();
      while (inFlight.size > 0) await Promise.all(inFlight);
    } while (inFlight.size > 0);
  };

  const runUntil = async (endMs: number) => {
    let fired = 0;
    await quiet();
    for (let next = timers.peek(); next && next.dueMs <= endMs; next = timers.peek()) {
      elapsedMs = Math.max(elapsedMs, next.dueMs);
      // All timers due at one instant fire before their work is awaited: a thousand deliveries are sent together.
      for (let due = timers.peek(); due && due.dueMs <= elapsedMs; due = timers.peek()) {
        timers.pop();
        const run = due.run;
        if (!run) continue;
        due.run = null;
        fired++;
        run();
      }
      await quiet();
    }
    elapsedMs = Math.max(elapsedMs, endMs);
    return fired;
  };

  const inTurn = (work: () => Promise<number>): Promise<number> => {
    const result = advancing.then(work);
    advancing = result.catch(() => undefined);
    return result;
  };

  return {
    startMs,
    now: () => offsetMs + elapsedMs,
    monotonic: () => elapsedMs,
    schedule,
    track,
    async advance(by) {
      const byMs = checkDurationMs("clock.advance: by", by);
      return inTurn(() => runUntil(elapsedMs + byMs));
    },
    settle: async () => {
      await inTurn(() => runUntil(elapsedMs));
    },
    setNow: (nowMs) => {
      offsetMs = nowMs - elapsedMs;
    },
    pending: () => ({
      timers: timers.size(),
      nextAtMs: timers.peek() ? offsetMs + (timers.peek()?.dueMs ?? 0) : null,
    }),
  };
}

/** One turn of the event loop: promises that the last timer resolved get to run. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Ordered by (dueMs, order); cancelled timers are dropped when they reach the top. */
function createTimerHeap() {
  const heap = createHeap<Timer>((a, b) => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order));
  let live = 0;

  return {
    push(timer: Timer) {
      live++;
      heap.push(timer);
    },
    peek(): Timer | undefined {
      while (heap.peek()?.run === null) heap.pop();
      return heap.peek();
    },
    pop() {
      live--;
      heap.pop();
    },
    forget() {
      live--;
    },
    size: () => live,
  };
}
