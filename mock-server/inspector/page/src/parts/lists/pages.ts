import { useState } from "preact/hooks";
import type { Page } from "../../api-types.ts";
import { useResource } from "../../state/resource.ts";

const pageRows = 500;

export interface ListQuery {
  readonly order: "desc";
  readonly limit: number;
  readonly iterator?: string | undefined;
}

export interface PagedList<Row> {
  readonly rows: readonly Row[];
  readonly loading: boolean;
  readonly done: boolean;
  loadOlder(): void;
}

/**
 * A list of the control API, newest first. Each call of `loadOlder` makes it one page longer. All of its pages are
 * read again together, so that no row is lost between two of them while new ones arrive at the top.
 */
export function usePages<Row>(
  key: string,
  topics: readonly string[],
  readPage: (query: ListQuery) => Promise<Page<Row>>,
  revision: (rows: readonly Row[]) => number = () => 0,
): PagedList<Row> {
  const [length, setLength] = useState({ key, pages: 1 });
  const pages = length.key === key ? length.pages : 1;
  const list = useResource(
    key,
    topics,
    () => readPages(readPage, pages),
    (list) => pages + revision(list?.data ?? []),
  );
  return {
    rows: list?.data ?? [],
    loading: list === undefined,
    done: list?.done ?? true,
    loadOlder: () => setLength({ key, pages: pages + 1 }),
  };
}

async function readPages<Row>(
  readPage: (query: ListQuery) => Promise<Page<Row>>,
  pages: number,
): Promise<Page<Row>> {
  const query = { order: "desc", limit: pageRows } as const;
  let page = await readPage(query);
  const data = [...page.data];
  for (let read = 1; read < pages && page.iterator !== null; read++) {
    page = await readPage({ ...query, iterator: page.iterator });
    data.push(...page.data);
  }
  return { ...page, data };
}
