/** One GraphQL request, as the service saw and answered it. Secrets are masked before they get here. */
export type JournalEntry = {
  /** 1 for the first request of a world. */
  readonly sequence: number;
  readonly atMs: number;
  readonly router: "base" | "gateway";
  readonly operationName: string | null;
  /** Top-level fields of the operation; empty when the document was not valid. */
  readonly operations: readonly string[];
  /** The document, cut to `journalTextCharsMax`; `null` when none came. */
  readonly query: string | null;
  /** `null` when none came, or when they were longer than `journalTextCharsMax`. */
  readonly variables: unknown;
  readonly caller: "anonymous" | "user" | "member" | "partner";
  readonly keyId: string | null;
  readonly userId: string | null;
  readonly workspaceId: string | null;
  /** The `source-platform` header. @see interface §4 */
  readonly sourcePlatform: string | null;
  /** HTTP status; `null` when the connection was cut instead. */
  readonly status: number | null;
  readonly errors: readonly JournalError[];
  /** Why the request was refused, in more words than the caller was told; `null` when it was not. */
  readonly rejection: string | null;
  /** Kinds of the faults that befell it. */
  readonly faults: readonly string[];
  readonly durationMs: number;
};

export type JournalError = {
  readonly message: string;
  readonly code: string | null;
  readonly path: string | null;
};

export type JournalPage = {
  readonly data: readonly JournalEntry[];
  readonly done: boolean;
  /** Sequence to continue after; `null` when `done`. */
  readonly iterator: string | null;
};

export interface RequestJournal {
  append(entry: Omit<JournalEntry, "sequence">): JournalEntry;
  /** How many requests were ever written, those that have been dropped included. */
  readonly count: number;
  /** Entries still kept, oldest first. */
  entries(): readonly JournalEntry[];
  /** A page in order of time. `iterator` is the sequence after which it starts. */
  list(options?: { readonly limit?: number; readonly iterator?: string | null }): JournalPage;
  restore(entries: readonly JournalEntry[], count: number): void;
}

/** @param entriesMax entries kept; the oldest go first */
export function createRequestJournal(entriesMax: number): RequestJournal {
  let kept: JournalEntry[] = [];
  let count = 0;

  // Twice as many are kept before half is dropped, so that appending stays cheap.
  const trim = () => {
    if (kept.length >= 2 * entriesMax) kept = kept.slice(-entriesMax);
  };
  const entries = () => (kept.length > entriesMax ? kept.slice(-entriesMax) : kept);

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
