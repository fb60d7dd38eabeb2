import { useEffect, useState } from "preact/hooks";
import type { Page } from "../nouns.ts";
import { ask, useResource } from "../resource.ts";

const pageRows = 500;

/**
 * A list of the control API, newest first: its first page follows what happens, older pages are added when
 * asked for. Rows that are on both are shown as the fresher page has them.
 */
export function usePages<Item>(path: string, keyOf: (item: Item) => string, nouns: readonly string[]) {
  const query = `${path}${path.includes("?") ? "&" : "?"}limit=${pageRows}`;
  const first = useResource<Page<Item>>(query, nouns);
  const [older, setOlder] = useState<{ query: string; pages: readonly Page<Item>[] }>({ query, pages: [] });
  const pages = older.query === query ? older.pages : [];
  useEffect(() => setOlder({ query, pages: [] }), [query]);

  const rows = new Map<string, Item>();
  for (const page of first ? [first, ...pages] : []) {
    for (const item of page.data) if (!rows.has(keyOf(item))) rows.set(keyOf(item), item);
  }
  const last = pages.at(-1) ?? first;
  const loadOlder = async () => {
    if (!last?.iterator) return;
    const page = await ask<Page<Item>>("GET", `${query}&before=${encodeURIComponent(last.iterator)}`);
    setOlder({ query, pages: [...pages, page] });
  };
  return { rows: [...rows.values()], loading: first === undefined, done: last?.done ?? true, loadOlder };
}

/** A query string of the parameters that are set. */
export function withQuery(path: string, parameters: Readonly<Record<string, string>>): string {
  const set = Object.entries(parameters).filter(([, value]) => value !== "");
  return set.length === 0 ? path : `${path}?${new URLSearchParams(set)}`;
}
