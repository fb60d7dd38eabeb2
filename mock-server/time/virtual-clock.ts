import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { inSeries } from "@workspace-tasks/kernel/deferred.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { checkOptions } from "../checks.ts";
import { MockServerError } from "../errors.ts";
import { hasPendingIo } from "../host-process.ts";
import { checkDurationMs, isoTime, timeMsMax, timeMsMin } from "./duration.ts";
import { createHeap } from "./heap.ts";
import { nextTurn, realClock } from "./real-clock.ts";

/**
 * Time that moves only by `advance` and `runUntil`.
 *
 * Timers run in the order (due time, order of scheduling). The next instant starts only when nothing is in flight: no
 * delivery, no request to a mock that has this clock, and no work that was registered with `track`. So virtual time
 * never overtakes real sockets. Concurrent calls run one after the other.
 */
export interface VirtualClock extends Clock {
  /** Wall time at the start. */
  readonly startMs: number;
  /**
   * Moves time forward by milliseconds or text such as `"3m"`, `"7d"`; resolves with the number of timers that fired.
   * A receiver must not await it before it responds to a delivery: `advance` waits for that response.
   * @throws MockServerError ARGUMENT_INVALID for another value, and past the year 9999; CLOCK_BLOCKED when something in
   *   flight does not end
   */
  advance(by: number | string): Promise<number>;
  /**
   * Moves time from timer to timer until the promise settles, and returns it.
   * @throws MockServerError CLOCK_BLOCKED when something in flight does not end, or when the promise has not settled after
   *   `limit` and nothing that the clock knows of can settle it
   */
  runUntil<Result>(promise: Promise<Result>, options?: RunUntilOptions): Promise<Result>;
  /** Resolves when all tracked work has settled and nothing more is due now. */
  settle(): Promise<void>;
  /** Makes `advance` and `settle` wait for `work`, and returns it. */
  track<Result>(work: Promise<Result>, options?: Partial<HoldOptions>): Promise<Result>;
  /** Does what `track` does for work that is not one promise. Mocks that have this clock use it. */
  hold(options: HoldOptions): Hold;
  /** Sets wall time without firing timers; monotonic time is unaffected. */
  setNow(nowMs: number): void;
  /** Number of scheduled timers, and when the next is due. */
  pending(): { readonly timers: number; readonly nextAtMs: number | null };
}

export interface VirtualClockOptions {
  /** Real time that virtual time waits for one piece of work. Default: 20000. */
  readonly waitLimitMs?: number | undefined;
}

export interface RunUntilOptions {
  /** Longest virtual time that passes. Default: `"30d"`. */
  readonly limit?: number | string | undefined;
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
export function createVirtualClock(
  startMs = Date.UTC(2026, 0, 15, 12),
  options: VirtualClockOptions = {},
): VirtualClock {
  checkOptions("createVirtualClock", { startMs }, s.strictObject({ startMs: time }));
  const { waitLimitMs = workLimitMs } = checkOptions("createVirtualClock", options, clockOptions);
  // Timers use monotonic time, so that `setNow` cannot move them.
  const timers = createTimerHeap();
  const work = createWorkInFlight(waitLimitMs);
  let elapsedMs = 0;
  let offsetMs = startMs;
  let order = 0;
  const inTurn = inSeries();

  const schedule: Clock["schedule"] = (delayMs, run) => {
    // A delay that is not a number would put the timers out of order.
    const delay = Math.max(0, delayMs || 0);
    const timer: Timer = { dueMs: elapsedMs + delay, order: order++, run };
    timers.push(timer);
    return () => {
      if (timer.run) timers.forget();
      timer.run = null;
    };
  };

  const track: VirtualClock["track"] = (tracked, { what = registeredWork, limitMs } = {}) => {
    work.track(tracked, { what, limitMs });
    return tracked;
  };

  /** Resolves when nothing is in flight. Work that was ends in turns of its own: its client sends the next request. */
  const quiet = async () => {
    let sequels = work.sequels;
    let turnsLeft = 1;
    while (turnsLeft > 0) {
      await nextTurn();
      turnsLeft--;
      if (work.size > 0) {
        await work.whenIdle();
        turnsLeft = 1;
      }
      if (work.sequels !== sequels) {
        sequels = work.sequels;
        turnsLeft = turnsAfterRequest;
      }
    }
  };

  /** Fires everything due at the next instant, if there is one until `endMs`. */
  const runInstant = (endMs: number): number => {
    const next = timers.peek();
    if (!next || next.dueMs > endMs) return 0;
    let fired = 0;
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
    return fired;
  };

  const runTo = async (endMs: number) => {
    let fired = 0;
    await startQuiet();
    for (let ran = runInstant(endMs); ran > 0; ran = runInstant(endMs)) {
      fired += ran;
      await quiet();
    }
    elapsedMs = Math.max(elapsedMs, endMs);
    return fired;
  };

  /** Resolves when nothing is in flight before the first instant: a client may also be reading a file or loading a module before its next request. */
  const startQuiet = async () => {
    const endMs = realClock.monotonic() + pendingIoLimitMs;
    for (let turns = 0; turns < turnsAfterRequest; turns++) await quiet();
    while (hasPendingIo() && realClock.monotonic() < endMs) {
      await pause(1);
      await quiet();
    }
  };

  const pause = (ms: number) => new Promise<void>((resolve) => void realClock.schedule(ms, resolve));

  /** Waits for what the clock does not know of, such as another process. @throws MockServerError CLOCK_BLOCKED */
  const unseenProgress = async (hasProgressed: () => boolean) => {
    const endMs = realClock.monotonic() + waitLimitMs;
    for (let waitMs = 1; !hasProgressed(); waitMs = Math.min(2 * waitMs, 50)) {
      if (realClock.monotonic() > endMs) throw neverSettled(isoTime(offsetMs + elapsedMs));
      await pause(waitMs);
      await quiet();
    }
  };

  return {
    startMs,
    now: () => offsetMs + elapsedMs,
    monotonic: () => elapsedMs,
    schedule,
    track,
    hold: work.hold,
    async advance(by) {
      const byMs = checkDurationMs("clock.advance: by", by);
      return inTurn(async () => {
        checkEnd(offsetMs + elapsedMs + byMs);
        return runTo(elapsedMs + byMs);
      });
    },
    async runUntil(promise, { limit = "30d" } = {}) {
      const limitMs = checkDurationMs("clock.runUntil: limit", limit);
      const endMs = Math.min(elapsedMs + limitMs, timeMsMax - offsetMs);
      let settled = false;
      const settle = () => {
        settled = true;
      };
      promise.then(settle, settle);
      await inTurn(startQuiet);
      // One instant per turn: the promise may depend on another call that moves time.
      while (!settled) {
        await inTurn(async () => {
          if (settled || runInstant(endMs) > 0) return quiet();
          await unseenProgress(() => settled || (timers.peek()?.dueMs ?? Number.POSITIVE_INFINITY) <= endMs);
        });
      }
      return promise;
    },
    settle: async () => {
      await inTurn(() => runTo(elapsedMs));
    },
    setNow: (nowMs) => {
      checkOptions("clock.setNow", { nowMs }, s.strictObject({ nowMs: time }));
      offsetMs = nowMs - elapsedMs;
    },
    pending: () => ({
      timers: timers.size(),
      nextAtMs: timers.peek() ? offsetMs + (timers.peek()?.dueMs ?? 0) : null,
    }),
  };
}

const registeredWork = "work that was registered with clock.track";
/** Real time that a file operation may take before time moves without it. */
const pendingIoLimitMs = 200;
/** A client needs some turns from the end of a response to its next request. */
const turnsAfterRequest = 4;

const clockOptions = s.strictOptions<VirtualClockOptions>()({ waitLimitMs: s.optional(s.numberFrom(1)) });
const time = s.refineNumber(
  "a time in milliseconds until the year 9999",
  (value) => value >= timeMsMin && value <= timeMsMax,
);

function checkEnd(endMs: number): void {
  if (endMs <= timeMsMax) return;
  const message = `clock.advance: by: expected a duration until ${isoTime(timeMsMax)} at the latest, got a longer one`;
  throw new MockServerError("ARGUMENT_INVALID", message);
}

const neverSettled = (now: string) =>
  new MockServerError(
    "CLOCK_BLOCKED",
    `clock.runUntil: at ${now} the promise has not settled, nothing more is due within the limit, and nothing is in flight`,
  );

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

// What a virtual clock waits for before it moves: requests and deliveries in flight, work that a test tracks. Each has a
// limit in real time, measured while the clock waits for it. Past the limit the clock stops waiting for this piece of
// work, and what made it wait fails with an error that names the work; so a request that hangs stops time once.

export interface Hold {
  /** The work has ended. Idempotent. */
  release(): void;
  /** The work waits for time itself, which may move meanwhile. */
  pause(): void;
  /** Called when the work continues. */
  resume(): void;
  /** The rest is up to others, who may never do it: the clock waits a second for it, without an error. */
  relax(): void;
}

export interface HoldOptions {
  /** What messages call it, such as `POST /graphql`. */
  readonly what: string;
  /** Real time that the clock waits for it. Default: 20 s. */
  readonly limitMs?: number | undefined;
  /** Its end starts further work in this process, such as the next request of a client. */
  readonly hasSequel?: boolean | undefined;
}

interface WorkInFlight {
  readonly size: number;
  /** Number of pieces of work with a sequel that have ended. */
  readonly sequels: number;
  hold(options: HoldOptions): Hold;
  /** Holds the clock until `work` settles. */
  track(work: Promise<unknown>, options: HoldOptions): void;
  /** Resolves when nothing is in flight. @throws MockServerError CLOCK_BLOCKED past a limit */
  whenIdle(): Promise<void>;
}

interface Item {
  readonly what: string;
  limitMs: number;
  isRelaxed: boolean;
  /** When the clock started to wait for it; `null` before. */
  waitedFromMs: number | null;
}

/** Longer than the time limits of a delivery and of reading a URL. */
const workLimitMs = 20_000;
const relaxedLimitMs = 1_000;

/** @param limitMsDefault real time that the clock waits for one piece of work */
function createWorkInFlight(limitMsDefault: number): WorkInFlight {
  const items = new Set<Item>();
  const waiters = new Set<() => void>();
  let sequels = 0;

  const wake = () => {
    for (const resolve of waiters) resolve();
  };
  const remove = (item: Item) => {
    if (items.delete(item) && items.size === 0) wake();
  };

  /** Resolves when nothing is in flight, after `delayMs`, or when a limit has changed. */
  const idleOr = (delayMs: number) =>
    new Promise<void>((resolve) => {
      const finish = () => {
        waiters.delete(finish);
        cancel();
        resolve();
      };
      const cancel = realClock.schedule(delayMs, finish);
      waiters.add(finish);
    });

  const hold = (options: HoldOptions): Hold => {
    const { what, limitMs = limitMsDefault } = options;
    const item: Item = { what, limitMs, isRelaxed: false, waitedFromMs: null };
    let released = false;
    items.add(item);
    return {
      release() {
        if (released) return;
        released = true;
        if (options.hasSequel) sequels++;
        remove(item);
      },
      pause: () => remove(item),
      resume() {
        item.waitedFromMs = null;
        if (!released) items.add(item);
      },
      relax() {
        item.limitMs = relaxedLimitMs;
        item.isRelaxed = true;
        item.waitedFromMs = null;
        wake();
      },
    };
  };

  return {
    get size() {
      return items.size;
    },
    get sequels() {
      return sequels;
    },
    hold,
    track(work, options) {
      const { release } = hold(options);
      work.then(release, release);
    },
    async whenIdle() {
      while (items.size > 0) {
        const nowMs = realClock.monotonic();
        let nextMs = Number.POSITIVE_INFINITY;
        for (const item of items) {
          item.waitedFromMs ??= nowMs;
          const remainingMs = item.waitedFromMs + item.limitMs - nowMs;
          if (remainingMs > 0) nextMs = Math.min(nextMs, remainingMs);
          else {
            remove(item);
            if (!item.isRelaxed)
              throw blockedBy(item, item.limitMs === limitMsDefault ? " (waitLimitMs)" : "");
          }
        }
        if (items.size > 0) await idleOr(nextMs);
      }
    },
  };
}

const blockedBy = ({ what, limitMs }: Item, option: string) =>
  new MockServerError(
    "CLOCK_BLOCKED",
    `virtual time waited ${limitMs} ms${option} for ${what}, which is still in flight; it no longer waits for it`,
  );
