import type { JournalEntry } from "../state/journal-entry.ts";

export interface RequestJournal {
  append(entry: Omit<JournalEntry, "sequence">): JournalEntry;
  /** Number of all requests, dropped ones included. */
  readonly count: number;
  /** The entries that are kept, oldest first. */
  entries(): readonly JournalEntry[];
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
    restore(restored, restoredCount) {
      kept = [...restored];
      count = restoredCount;
    },
  };
}
