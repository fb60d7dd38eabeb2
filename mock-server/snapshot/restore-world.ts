import { rescheduleDeliveries } from "../rules/deliveries/deliveries.ts";
import { resumeImports } from "../rules/partner/imports.ts";
import { resumeProgress } from "../rules/tasks/progression.ts";
import type { World } from "../world/world.ts";
import type { WorldHolder } from "../world/world-holder.ts";
import { fillFromSnapshot } from "./snapshot.ts";
import type { Snapshot } from "./snapshot-schema.ts";

/** Restores a validated snapshot and reschedules its timers. */
export function restoreWorld(worlds: WorldHolder, snapshot: Snapshot): World {
  return worlds.restore(snapshot, (world) => {
    fillFromSnapshot(world, snapshot);
    resumeProgress(world, snapshot.state.progress);
    rescheduleDeliveries(world);
    resumeImports(world);
  });
}
