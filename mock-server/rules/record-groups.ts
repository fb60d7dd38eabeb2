// Tasks, clients, works, artifacts and documents are only ever added. So a group of them is kept up by reading what was
// added since, and costs no more with 100,000 records of others.

import type { World } from "../world/world.ts";
import { worldCache } from "../world/world-cache.ts";

/** The records of a group, in order of creation. */
type RecordGroups<Item> = (world: World, key: string) => readonly Item[];

export const tasksOfWorkspace = groupRecords(
  ({ state }) => state.tasks,
  ({ workspaceId }) => workspaceId,
);
export const tasksOfClient = groupRecords(
  ({ state }) => state.tasks,
  ({ clientId }) => clientId,
);
export const clientsOfWorkspace = groupRecords(
  ({ state }) => state.clients,
  ({ workspaceId }) => workspaceId,
);
/** At most one, by `<workspace id>/<external id>`. */
export const clientsByExternalId = groupRecords(
  ({ state }) => state.clients,
  ({ workspaceId, externalId }) => `${workspaceId}/${externalId}`,
);
export const documentsOfClient = groupRecords(
  ({ state }) => state.documents,
  ({ clientId }) => clientId,
);
export const worksOfJob = groupRecords(
  ({ state }) => state.jobWorks,
  ({ jobId }) => jobId,
);
/** At most one, by `<connection id>/<external id>`. */
export const worksByExternalId = groupRecords(
  ({ state }) => state.jobWorks,
  ({ connectionId, externalId }) => `${connectionId}/${externalId}`,
);
export const artifactsOfWork = groupRecords(
  ({ state }) => state.artifacts,
  ({ jobWorkId }) => jobWorkId,
);

/** @param recordsOf records of which none is ever removed or replaced */
function groupRecords<Item>(
  recordsOf: (world: World) => ReadonlyMap<string, Item>,
  keyOf: (item: Item) => string,
): RecordGroups<Item> {
  const groupsOf = worldCache((world) => {
    const groups = new Map<string, Item[]>();
    // An iterator of a map also returns what is added later, unless it was asked beyond the end.
    const added = recordsOf(world).values();
    let read = 0;
    return () => {
      for (; read < recordsOf(world).size; read++) {
        const { value: item } = added.next() as IteratorYieldResult<Item>;
        const key = keyOf(item);
        const group = groups.get(key);
        if (group) group.push(item);
        else groups.set(key, [item]);
      }
      return groups;
    };
  });
  return (world, key) => groupsOf(world)().get(key) ?? [];
}

/** The matching records of a group from `offset` on, the newest first; the search ends with the last that is wanted. */
export function newestFirst<Item>(
  group: readonly Item[],
  { offset, limit }: { readonly offset: number; readonly limit: number },
  matches: (item: Item) => boolean = () => true,
): Item[] {
  const found: Item[] = [];
  let skipped = 0;
  for (let at = group.length - 1; at >= 0 && found.length < limit; at--) {
    const item = group[at] as Item;
    if (matches(item) && skipped++ >= offset) found.push(item);
  }
  return found;
}
