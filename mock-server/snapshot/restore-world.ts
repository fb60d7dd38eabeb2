import { rearmDeliveries } from "../delivery/engine.ts";
import { rearmImports } from "../partner/imports.ts";
import { resumeProgress } from "../tasks/progression.ts";
import type { World } from "../world.ts";
import type { Worlds } from "../worlds.ts";
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
