import { textOfUtf8, utf8 } from "@workspace-tasks/kernel/bytes.ts";
import type { JournalEntry } from "../state/records.ts";

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

/** Headers and response of one GraphQL request, with their secrets: they are redacted where they are shown. */
export interface RoundTrip {
  readonly requestHeaders: Readonly<Record<string, string | string[] | undefined>>;
  readonly responseHeaders: Readonly<Record<string, string>>;
  readonly responseBody: string;
  readonly isTruncated: boolean;
}

/** Only in memory: a snapshot has none of them. */
export interface RoundTrips {
  keep(sequence: number, roundTrip: Omit<RoundTrip, "isTruncated">): void;
  get(sequence: number): RoundTrip | undefined;
}

const keptMax = 500;
const bodyCharsMax = 16_384;

/** Keeps the newest. Sequence numbers grow by one; some requests are not kept. */
export function createRoundTrips(): RoundTrips {
  const ring: { readonly sequence: number; readonly roundTrip: RoundTrip }[] = [];
  return {
    keep(sequence, { requestHeaders, responseHeaders, responseBody }) {
      const isTruncated = responseBody.length > bodyCharsMax;
      // A part of a string keeps the whole one in memory, a copy of the part does not.
      const body = isTruncated ? textOfUtf8(utf8(responseBody.slice(0, bodyCharsMax))) : responseBody;
      const roundTrip = { requestHeaders, responseHeaders, responseBody: body, isTruncated };
      ring[sequence % keptMax] = { sequence, roundTrip };
    },
    get(sequence) {
      const kept = ring[sequence % keptMax];
      return kept?.sequence === sequence ? kept.roundTrip : undefined;
    },
  };
}
