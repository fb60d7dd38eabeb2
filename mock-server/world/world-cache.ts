import type { World } from "./world.ts";

/**
 * What a module keeps per world beside the state: indexes and queues, made at first use. It goes when
 * the world goes, so a reset need not know about it, and a restore rebuilds it from the state.
 */
export function perWorld<Value>(create: (world: World) => Value): (world: World) => Value {
  const values = new WeakMap<World, Value>();
  return (world) => {
    const known = values.get(world);
    if (known !== undefined) return known;
    const value = create(world);
    values.set(world, value);
    return value;
  };
}
