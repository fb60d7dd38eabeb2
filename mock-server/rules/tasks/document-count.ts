import type { World } from "../../world/world.ts";
import { worldCache } from "../../world/world-cache.ts";

/** How many documents a client holds, pulled or added by hand. */
export const countDocuments = (world: World, clientId: string): number => counts(world)(clientId);

// Documents are only ever added: while their number is the same, so are the counts.
const counts = worldCache(({ state }) => {
  let counted = new Map<string, number>();
  let size = 0;
  return (clientId: string): number => {
    if (size !== state.documents.size) {
      size = state.documents.size;
      counted = new Map();
      for (const document of state.documents.values()) {
        counted.set(document.clientId, (counted.get(document.clientId) ?? 0) + 1);
      }
    }
    return counted.get(clientId) ?? 0;
  };
});
