/** The first record that matches, in order of creation. */
export function findRecord<Item>(
  records: ReadonlyMap<string, Item>,
  matches: (record: Item) => boolean,
): Item | undefined {
  for (const record of records.values()) if (matches(record)) return record;
  return undefined;
}

/** The records that match, in order of creation. */
export function listRecords<Item>(
  records: ReadonlyMap<string, Item>,
  matches: (record: Item) => boolean,
): Item[] {
  const found: Item[] = [];
  for (const record of records.values()) if (matches(record)) found.push(record);
  return found;
}
