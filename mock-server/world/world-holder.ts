import type { VirtualClock } from "../time/virtual-clock.ts";
import { createWorld, type World, type WorldOptions } from "./world.ts";

// A reset does not clean a world, it ends it and begins another: nothing can be forgotten that way, and
// what still comes back from outside meets a world that has ended and is dropped.

/** What a new world is furnished with, and the only place where these keys are known. */
export type Furnishing = {
  readonly workspaceId: string;
  readonly apiKey: string;
  readonly partnerApiKey: string;
};

/** The fields of a snapshot that a world is created from. */
export interface WorldOrigin {
  readonly seed: number;
  readonly nowMs: number;
  readonly furnishedWorkspaceId: string;
}

export interface Worlds {
  readonly current: World;
  readonly furnishing: Furnishing;
  /** Begins anew: with the same seed the same ids and keys come again; a virtual clock goes back to its start. */
  reset(): World;
  /** Replaces the world by one that `fill` restores; the origin may be another mock. */
  restore(origin: WorldOrigin, fill: (world: World) => void): World;
  /** Calls `listener` whenever another world has become the current one. */
  follow(listener: (world: World) => void): () => void;
  /** Ends the current world for good. */
  end(): void;
}

export type WorldsOptions = Omit<WorldOptions, "epoch"> & {
  /** Puts a first workspace with its keys into an empty world. */
  readonly furnish: (world: World) => Furnishing;
};

export function createWorlds({ furnish, ...options }: WorldsOptions): Worlds {
  const { clock } = options;
  const startMs = clock.now();
  const followers = new Set<(world: World) => void>();
  let epoch = 0;
  let current = createWorld({ ...options, epoch });
  let furnishing = furnish(current);

  const begin = (seed: number, nowMs: number): World => {
    current.end();
    if (isVirtual(clock)) clock.setNow(nowMs);
    return createWorld({ ...options, seed, epoch: ++epoch });
  };

  const become = (world: World): World => {
    current = world;
    for (const follower of [...followers]) follower(world);
    return world;
  };

  return {
    get current() {
      return current;
    },
    get furnishing() {
      return furnishing;
    },
    reset() {
      const world = begin(options.seed, startMs);
      furnishing = furnish(world);
      return become(world);
    },
    restore(origin, fill) {
      const world = begin(origin.seed, origin.nowMs);
      // A snapshot has key hashes only; a throwaway world with the same seed yields the keys.
      const twin = createWorld({ ...options, seed: origin.seed, epoch });
      furnishing = { ...furnish(twin), workspaceId: origin.furnishedWorkspaceId };
      fill(world);
      return become(world);
    },
    follow(listener) {
      followers.add(listener);
      return () => followers.delete(listener);
    },
    end: () => current.end(),
  };
}

const isVirtual = (clock: WorldOptions["clock"]): clock is VirtualClock => "advance" in clock;
