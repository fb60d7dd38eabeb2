import { useState } from "preact/hooks";
import { type Filter, withQuery } from "../address.ts";
import type { Page } from "../nouns.ts";
import { ask, useResource } from "../resource.ts";

const pageRows = "500";

/**
 * A list of the control API, newest first, that follows what happens. It begins with one page; each call of
 * `loadOlder` makes it one page longer. All of its pages are read anew together, so that no row can fall
 * between two of them while new ones push in at the top.
 */
export function usePages<Item>(path: string, filter: Filter, nouns: readonly string[]) {
  const query = withQuery(path, { ...filter, limit: pageRows });
  const [length, setLength] = useState({ query, pages: 1 });
  const pages = length.query === query ? length.pages : 1;
  const list = useResource<Page<Item>>(query, nouns, {
    revision: pages,
    read: () => readPages<Item>(query, pages),
  });
  return {
    rows: list?.data ?? [],
    loading: list === undefined,
    done: list?.done ?? true,
    loadOlder: () => setLength({ query, pages: pages + 1 }),
  };
}

async function readPages<Item>(query: string, pages: number): Promise<Page<Item>> {
  let page = await ask<Page<Item>>("GET", query);
  const data = [...page.data];
  for (let read = 1; read < pages && page.iterator !== null; read++) {
    page = await ask<Page<Item>>("GET", `${query}&before=${encodeURIComponent(page.iterator)}`);
    data.push(...page.data);
  }
  return { ...page, data };
}
