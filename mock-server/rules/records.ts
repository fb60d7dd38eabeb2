// A cursor contains the id of the last item returned, not a position, and the items are in order of their ids. So
// a page neither repeats nor omits an item that exists throughout, whatever is created or deleted in between.

import { fromBase64, textOfUtf8, toBase64Url, utf8 } from "@workspace-tasks/kernel/bytes.ts";
import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import { type World, worldCache } from "../world/world.ts";
import { badInput } from "./service-error.ts";

const lastIdPattern = /\n([0-9a-f-]{36})$/;

/** The cursor after `lastId` in the list of one workspace's endpoints. */
export const encodeIterator = (workspaceId: string, lastId: string): string =>
  toBase64Url(utf8(`webhook-endpoints\n${workspaceId}\n${lastId}`));

/**
 * The id after which the page starts.
 * @throws ServiceError BAD_USER_INPUT for a cursor that is malformed or belongs to another workspace
 */
export function decodeIterator(workspaceId: string, iterator: string): string {
  const text = textOfUtf8(fromBase64(iterator) ?? new Uint8Array());
  const lastId = lastIdPattern.exec(text)?.[1];
  // Encoding it again detects another workspace, and what a lenient base64 decoder ignores.
  if (lastId === undefined || encodeIterator(workspaceId, lastId) !== iterator)
    throw badInput("Invalid iterator");
  return lastId;
}

export interface Slice {
  readonly offset: number;
  readonly limit: number;
}

/** `offset` and `limit` of a plain list. @throws ServiceError BAD_USER_INPUT outside the bounds */
export function checkSlice(world: World, { offset, limit }: Slice): void {
  const { listItemsMax } = world.settings.bounds;
  if (offset < 0) throw badInput("Offset must not be negative");
  if (limit < 1 || limit > listItemsMax) throw badInput(`Limit must be between 1 and ${listItemsMax}`);
}

/** @throws ServiceError BAD_USER_INPUT when a list in the input is longer than `listItemsMax` */
export function checkListLength(
  world: World,
  name: string,
  list: readonly unknown[] | null | undefined,
): void {
  const { listItemsMax } = world.settings.bounds;
  if (list && list.length > listItemsMax) throw badInput(`${name} must have at most ${listItemsMax} items`);
}

// Tasks, clients, works, artifacts and documents are only ever added. So a group of them is kept up by reading what was
// added since, and costs no more with 100,000 records of others.

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
        getOrCreate(groups, keyOf(item), (): Item[] => []).push(item);
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

/** The first record that matches, in order of creation. */
export function findRecord<Item>(
  records: ReadonlyMap<string, Item>,
  matches: (record: Item) => boolean,
): Item | undefined {
  for (const record of records.values()) if (matches(record)) return record;
  return undefined;
}

/** Now, but later than `previousMs`: two changes of one record never have the same time (W9). */
export const timeAfter = (world: World, previousMs: number): number =>
  Math.max(world.clock.now(), previousMs + 1);

export function touch(world: World, record: { updatedAtMs: number }): void {
  record.updatedAtMs = timeAfter(world, record.updatedAtMs);
}

/** Times of a record that is created now. */
export function createdNow(world: World) {
  const nowMs = world.clock.now();
  return { createdAtMs: nowMs, updatedAtMs: nowMs };
}

/** Whether a text shows nothing: white space, and characters without a width such as U+200B. */
export const isBlank = (text: string): boolean => /^[\s\p{Cc}\p{Cf}]*$/u.test(text);
