import type { Caller } from "../identity/caller.ts";
import type { World } from "../world.ts";

/** What every resolver of one request gets. */
export type RequestContext = {
  readonly world: World;
  readonly caller: Caller;
};
