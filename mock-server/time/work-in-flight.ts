// What a virtual clock waits for before it moves: requests and deliveries in flight, work that a test tracks. Each has a
// limit in real time, measured while the clock waits for it. Past the limit the clock stops waiting for this piece of
// work, and what made it wait fails with an error that names the work; so a request that hangs stops time once.

import { MockServerError } from "../errors.ts";
import { realClock } from "./real-clock.ts";

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
  /** For messages, such as `POST /graphql`. */
  readonly what: string;
  /** Real time that the clock waits for it. Default: 20 s. */
  readonly limitMs?: number | undefined;
  /** Its end starts further work in this process, such as the next request of a client. */
  readonly hasSequel?: boolean | undefined;
}

export interface WorkInFlight {
  readonly size: number;
  /** Number of pieces of work with a sequel that have ended. */
  readonly sequels: number;
  hold(options: HoldOptions): Hold;
  /** As `hold`, until `work` settles. */
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
export const workLimitMs = 20_000;
const relaxedLimitMs = 1_000;

/** @param limitMsDefault real time that the clock waits for one piece of work */
export function createWorkInFlight(limitMsDefault = workLimitMs): WorkInFlight {
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
