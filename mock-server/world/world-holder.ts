// A reset does not clean a world: it ends it and creates another one. Nothing can be forgotten that way, and
// a response to the old world's requests finds that it has ended and is dropped.

import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { deferred } from "@workspace-tasks/kernel/deferred.ts";
import { MockServerError } from "../errors.ts";
import { allowManyListeners } from "../host-process.ts";
import type { Settings } from "../settings/settings.ts";
import { parseDurationMs } from "../time/duration.ts";
import type { RunUntilOptions, VirtualClock } from "../time/virtual-clock.ts";
import { createWorld, type NumberedActivity, type World, type WorldOptions } from "./world.ts";

/** What every new world is seeded with, and the only place that has these keys in plain text. */
export interface SeedData {
  readonly workspaceId: string;
  readonly apiKey: string;
  readonly partnerApiKey: string;
  /** The keys of all members of the seed data, `apiKey` included. */
  readonly apiKeys: readonly string[];
}

/** The fields of a snapshot that a world is created from. */
interface WorldOrigin {
  readonly seed: number;
  readonly nowMs: number;
  readonly seedWorkspaceId: string;
}

export interface WorldHolder {
  /** @throws MockServerError MOCK_CLOSED after `end`, as `reset`, `restore` and `subscribe` do */
  readonly current: World;
  /** Aborts with MOCK_CLOSED at the end. */
  readonly signal: AbortSignal;
  readonly seedData: SeedData;
  /** The settings of the start; a reset returns to them. */
  readonly startSettings: Settings;
  /** Replaces the world by a new one: the same seed yields the same ids and keys; a virtual clock returns to its start. */
  reset(): World;
  /** Replaces the world by one that `fill` restores; the origin may be another mock. */
  restore(origin: WorldOrigin, fill: (world: World) => void): World;
  /** Calls `listener` after every replacement of the current world. */
  onReplace(listener: (world: World) => void): () => void;
  /** Calls `listener` with all activity from now on, of this world and of those that replace it. */
  subscribe(listener: (activity: NumberedActivity) => void): () => void;
  /** Ends the current world without a successor. Idempotent. */
  end(): void;
}

interface WorldHolderOptions extends Omit<WorldOptions, "epoch"> {
  /** Adds a first workspace with its keys to an empty world. */
  readonly seedWorld: (world: World) => SeedData;
}

export function createWorldHolder({ seedWorld, ...options }: WorldHolderOptions): WorldHolder {
  const { clock, name } = options;
  const what = name ? `world ${JSON.stringify(name)}` : "the mock";
  const startMs = clock.now();
  const listeners = new Set<(world: World) => void>();
  let epoch = 0;
  let current = createWorld({ ...options, epoch });
  let seedData = seedWorld(current);
  const ending = new AbortController();
  // Every wait of a clock listens to it.
  allowManyListeners(ending.signal);

  const open = (): World => {
    if (ending.signal.aborted) throw closedError(what);
    return current;
  };

  const createNext = (seed: number, nowMs: number, settings: Settings): World => {
    open().end(new MockServerError("WAIT_TIMED_OUT", "a reset or a restored snapshot ended the wait"));
    if (isVirtual(clock)) clock.setNow(nowMs);
    return createWorld({ ...options, seed, settings, epoch: ++epoch });
  };

  const replace = (world: World): World => {
    current = world;
    for (const listener of [...listeners]) listener(world);
    return world;
  };

  const onReplace = (listener: (world: World) => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };

  return {
    get current() {
      return open();
    },
    signal: ending.signal,
    get seedData() {
      return seedData;
    },
    startSettings: options.settings,
    reset() {
      const world = createNext(options.seed, startMs, options.settings);
      seedData = seedWorld(world);
      return replace(world);
    },
    restore(origin, fill) {
      const world = createNext(origin.seed, origin.nowMs, current.settings);
      // A snapshot has key hashes only; a throwaway world with the same seed yields the keys.
      const throwaway = createWorld({ ...options, seed: origin.seed, epoch });
      seedData = { ...seedWorld(throwaway), workspaceId: origin.seedWorkspaceId };
      fill(world);
      return replace(world);
    },
    onReplace,
    subscribe(listener) {
      let unsubscribe = open().subscribe(listener);
      const stopFollowing = onReplace((world) => {
        unsubscribe = world.subscribe(listener);
      });
      return () => {
        unsubscribe();
        stopFollowing();
      };
    },
    end() {
      ending.abort(closedError(what));
      current.end(ending.signal.reason);
    },
  };
}

const isVirtual = (clock: WorldOptions["clock"]): clock is VirtualClock => "advance" in clock;

const closedError = (what: string) =>
  new MockServerError("MOCK_CLOSED", `${what} is closed; close it after the last use, or create another`);

/** The mock's clock. A virtual one can be shared with a client and a receiver. */
export interface MockClock extends Clock {
  readonly mode: "real" | "virtual";
  /**
   * Moves virtual time by milliseconds or text such as `"3m"`, `"7d"`. Resolves with the number of timers that fired,
   * once everything that became due has settled. Errors: `ARGUMENT_INVALID`, `CLOCK_IS_REAL`, `CLOCK_BLOCKED`.
   */
  advance(by: number | string): Promise<number>;
  /**
   * Moves virtual time from timer to timer until the promise settles, and returns it; on a real clock only returns it.
   * Errors: `CLOCK_BLOCKED` when it has not settled after `limit` (default `"30d"`).
   */
  runUntil<Result>(promise: Promise<Result>, options?: RunUntilOptions): Promise<Result>;
  /** Resolves when everything due now has settled; at once on a real clock. */
  settle(): Promise<void>;
}

/** The clock of a mock as tests move it. Each move is an activity, after which the inspector reads the state again. */
export function createWorldClock(worlds: WorldHolder, clock: Clock | VirtualClock): MockClock {
  const virtual = "advance" in clock ? clock : null;
  // The clock may be shared with others, and then moves on after the mock is closed.
  const report = (byMs: number, fired: number | null) => {
    if (!worlds.signal.aborted) worlds.current.emit({ type: "clock.advanced", byMs, fired });
  };
  return {
    // With the methods of a virtual clock: another mock with this clock can advance it too.
    ...clock,
    mode: virtual ? "virtual" : "real",
    async advance(by) {
      if (!virtual) {
        throw new MockServerError("CLOCK_IS_REAL", "a real clock cannot be advanced; use a virtual one");
      }
      const fired = await virtual.advance(by);
      report(parseDurationMs(by) ?? 0, fired);
      return fired;
    },
    async runUntil(promise, options) {
      const startMs = clock.now();
      const closed = deferred<never>();
      const close = () => closed.reject(worlds.signal.reason);
      worlds.signal.addEventListener("abort", close);
      try {
        const settled = Promise.race([promise, closed.promise]);
        return await (virtual ? virtual.runUntil(settled, options) : settled);
      } finally {
        worlds.signal.removeEventListener("abort", close);
        if (virtual && clock.now() !== startMs) report(clock.now() - startMs, null);
      }
    },
    async settle() {
      await virtual?.settle();
    },
  };
}
