import type { World } from "../world/world.ts";

/** Now, but later than `previousMs`: two changes of one record never have the same time (W9). */
export const timeAfter = (world: World, previousMs: number): number =>
  Math.max(world.clock.now(), previousMs + 1);

export function touch(world: World, record: { updatedAtMs: number }): void {
  record.updatedAtMs = timeAfter(world, record.updatedAtMs);
}

/** Times of a record that is created now. */
export function createdNow(world: World) {
  const nowMs = world.clock.now();
  return { createdAtMs: nowMs, updatedAtMs: nowMs };
}
