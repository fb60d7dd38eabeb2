import { rearmDeliveries } from "../rules/deliveries/engine.ts";
import { rearmImports } from "../rules/partner/imports.ts";
import { resumeProgress } from "../rules/tasks/progression.ts";
import type { World } from "../world/world.ts";
import type { Worlds } from "../world/world-holder.ts";
import { fillFromSnapshot, type Snapshot } from "./snapshot.ts";

/** Goes on from a snapshot that has been checked; what waits for a time waits again. */
export function restoreWorld(worlds: Worlds, snapshot: Snapshot): World {
  return worlds.restore(snapshot, (world) => {
    fillFromSnapshot(world, snapshot);
    resumeProgress(world, snapshot.state.progress);
    rearmDeliveries(world);
    rearmImports(world);
  });
}
