import type { World } from "../../world/world.ts";
import type { Caller } from "./caller.ts";

/** What every resolver of one request gets. */
export interface ResolverContext {
  readonly world: World;
  readonly caller: Caller;
}
