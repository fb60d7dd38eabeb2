import type { Page } from "@workspace-tasks/mock-server/control";
import { useState } from "preact/hooks";
import { useResource } from "../../state/resource.ts";

/** As many as a browser draws at once. */
const pageRows = 500;

interface ListQuery {
  readonly order: "desc";
  readonly limit: number;
  readonly iterator?: string | undefined;
}

export interface PagedList<Row> {
  readonly rows: readonly Row[];
  readonly loading: boolean;
  /** Absent: there are none. */
  readonly showOlder?: (() => void) | undefined;
  /** Absent: these are the newest. */
  readonly showNewest?: (() => void) | undefined;
}

/** A page of a list of the control API, at first the newest rows. */
export function usePages<Row>(
  key: string,
  topics: readonly string[],
  readPage: (query: ListQuery) => Promise<Page<Row>>,
  revision: (rows: readonly Row[]) => number = () => 0,
): PagedList<Row> {
  const [older, setOlder] = useState<{ readonly key: string; readonly iterator: string } | null>(null);
  const iterator = older?.key === key ? older.iterator : undefined;
  const page = useResource(
    `${key} ${iterator}`,
    topics,
    () => readPage({ order: "desc", limit: pageRows, iterator }),
    (read) => revision(read?.data ?? []),
  );
  const next = page?.iterator;
  return {
    rows: page?.data ?? [],
    loading: page === undefined,
    showOlder: next ? () => setOlder({ key, iterator: next }) : undefined,
    showNewest: iterator ? () => setOlder(null) : undefined,
  };
}
