import type { JournalEntry } from "../state/journal-entry.ts";

export interface JournalPage {
  readonly data: readonly JournalEntry[];
  readonly done: boolean;
  /** Sequence to continue after; `null` when `done`. */
  readonly iterator: string | null;
}

export interface RequestJournal {
  append(entry: Omit<JournalEntry, "sequence">): JournalEntry;
  /** Number of all requests, dropped ones included. */
  readonly count: number;
  /** The entries that are kept, oldest first. */
  entries(): readonly JournalEntry[];
  /** A page in order of time. `iterator` is the sequence number after which it starts. */
  list(options?: { readonly limit?: number; readonly iterator?: string | null }): JournalPage;
  restore(entries: readonly JournalEntry[], count: number): void;
}

/** @param entriesMax returns how many entries are kept; the oldest are dropped first */
export function createRequestJournal(entriesMax: () => number): RequestJournal {
  let kept: JournalEntry[] = [];
  let count = 0;

  // Up to twice as many are kept before half of them is dropped, so that appending stays cheap.
  const trim = () => {
    const max = entriesMax();
    if (kept.length >= 2 * max) kept = kept.slice(-max);
  };
  const entries = () => {
    const max = entriesMax();
    return kept.length > max ? kept.slice(-max) : kept;
  };

  return {
    get count() {
      return count;
    },
    append(entry) {
      const numbered = { sequence: ++count, ...entry };
      kept.push(numbered);
      trim();
      return numbered;
    },
    entries,
    list({ limit = 100, iterator = null } = {}) {
      const after = Number(iterator ?? 0);
      const current = entries();
      const start = Math.max(0, after + 1 - (current[0]?.sequence ?? 1));
      const data = current.slice(start, start + limit);
      const done = start + limit >= current.length;
      return { data, done, iterator: done ? null : String(data.at(-1)?.sequence ?? after) };
    },
    restore(restored, restoredCount) {
      kept = [...restored];
      count = restoredCount;
    },
  };
}
