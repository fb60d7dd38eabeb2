import { MockServerError } from "../../errors.ts";
import type { ControlsOf } from "../contract/route.ts";
import type { WorldDirectory } from "./world-directory.ts";
import type { NewWorld, worldRoutes } from "./world-routes.ts";

/** @param directory `null` in a named world, which cannot reach the others */
export function createWorldControls(directory: WorldDirectory | null): ControlsOf<typeof worldRoutes> {
  const worlds = (): WorldDirectory => {
    if (directory) return directory;
    throw new MockServerError("NOT_FOUND", "only the mock's own control API, without /w/, has worlds");
  };
  return {
    createWorld: (input = {}) => worlds().create(input as NewWorld),
    listWorlds: () => ({ data: worlds().list() }),
    dropWorld(name) {
      worlds().drop(name);
    },
  };
}
