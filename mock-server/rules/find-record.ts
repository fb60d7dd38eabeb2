/** The first record that matches, in order of creation. */
export function findRecord<Item>(
  records: ReadonlyMap<string, Item>,
  matches: (record: Item) => boolean,
): Item | undefined {
  for (const record of records.values()) if (matches(record)) return record;
  return undefined;
}

/** The records that match, in order of creation. */
export const listRecords = <Item>(
  records: ReadonlyMap<string, Item>,
  matches: (record: Item) => boolean,
): Item[] => matching(records.values(), matches);

/** The records that match, the newest first. */
export const newestFirst = <Item extends { readonly id: string }>(
  records: Iterable<Item>,
  matches: (record: Item) => boolean,
): Item[] => matching(records, matches).sort((a, b) => (a.id < b.id ? 1 : -1));

function matching<Item>(records: Iterable<Item>, matches: (record: Item) => boolean): Item[] {
  const found: Item[] = [];
  for (const record of records) if (matches(record)) found.push(record);
  return found;
}
