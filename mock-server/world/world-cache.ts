import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import type { World } from "./world.ts";

/**
 * Lazily created per-world cache of data derived from the state; collected with the world, so a reset needs
 * no clean-up and a restore rebuilds it.
 */
export function worldCache<Value>(create: (world: World) => Value): (world: World) => Value {
  const values = new WeakMap<World, Value>();
  return (world) => getOrCreate(values, world, create);
}
