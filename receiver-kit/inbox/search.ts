// How rows are found beside millions of others: which part of the rows is read, and in which steps. Numbers of rows grow with
// their times of receipt, so a time has its place among the numbers. Times that a clock has set back are found only where the search passes them.

import type {
  InboxRowFilter,
  InboxRowState,
  InboxRowSummary,
  InboxSearch,
  InboxSearchStep,
} from "./inbox.ts";

/** Rows with a number from `fromSeq` on and below `belowSeq`; with `isUnhandled` only dead and quarantined ones, by their index. */
export interface SearchedPart {
  readonly fromSeq: number;
  readonly belowSeq: number;
  readonly isUnhandled: boolean;
}

/** What a storage answers at once. */
export interface SearchedStorage {
  /** How many rows a step reads at most. */
  readonly stepRows: number;
  range(): Promise<{ readonly first: number; readonly last: number }>;
  /** The first row with this number or a higher one. */
  receiptFrom(seq: number): Promise<{ readonly seq: number; readonly receivedAtMs: number } | undefined>;
  /** Where a step over dead and quarantined rows begins that ends below a number: at most `rowsMax` rows. */
  unhandledBelow(
    belowSeq: number,
    rowsMax: number,
  ): Promise<{ readonly fromSeq: number; readonly count: number } | undefined>;
  /** The numbers of the waiting rows, newest first; `undefined` when there are more than `rowsMax`. */
  waiting(rowsMax: number): Promise<readonly number[] | undefined>;
  /** The newest rows of a part that match, at most `rowsMax`; with `seqs` only those. */
  find(
    part: SearchedPart,
    search: InboxSearch,
    rowsMax: number,
    seqs?: readonly number[],
  ): Promise<readonly InboxRowSummary[]>;
}

export async function* searchInSteps(
  storage: SearchedStorage,
  search: InboxSearch,
): AsyncGenerator<InboxSearchStep> {
  const {
    states,
    beforeSeq = Number.MAX_SAFE_INTEGER,
    sinceMs,
    untilMs,
    stepRows = stepRowsDefault,
  } = search;
  const { first, last } = await storage.range();
  let belowSeq = Math.min(beforeSeq, last + 1);
  if (untilMs !== undefined)
    belowSeq = Math.min(belowSeq, await placeOf(storage, untilMs + slackMs, first, last));
  const isOnly = (...of: readonly InboxRowState[]) => states?.every((state) => of.includes(state)) ?? false;
  const unhandled = { fromSeq: first, belowSeq, isUnhandled: true };
  if (isOnly("dead", "quarantined")) return yield* walk(storage, search, unhandled, stepRows, 0);
  const all = { fromSeq: first, belowSeq, isUnhandled: false };
  if (isOnly("pending", "running")) {
    const seqs = (await storage.waiting(storage.stepRows))?.filter((seq) => seq < belowSeq);
    for (let at = 0; seqs && at < seqs.length; at += stepRows) {
      const part = seqs.slice(at, at + stepRows);
      const rows = await storage.find(all, search, part.length, part);
      yield { rows, looked: at + part.length, beforeSeq: part.at(-1) ?? belowSeq };
    }
    if (seqs) return;
  }
  const sinceSeq = sinceMs === undefined ? first : await placeOf(storage, sinceMs - slackMs, first, last);
  const looked = yield* walk(storage, search, { ...all, fromSeq: sinceSeq }, stepRows, 0);
  // A row may have died long after it was received.
  if (sinceSeq <= first || (states && !states.includes("dead"))) return;
  yield* walk(storage, search, { ...unhandled, belowSeq: Math.min(sinceSeq, belowSeq) }, stepRows, looked);
}

async function* walk(
  storage: SearchedStorage,
  search: InboxSearch,
  part: SearchedPart,
  rowsMax: number,
  lookedBefore: number,
): AsyncGenerator<InboxSearchStep, number> {
  let looked = lookedBefore;
  // Most searches for a few rows find them among the first that they read.
  let stepRows = Math.min(storage.stepRows, 4 * rowsMax);
  for (let belowSeq = part.belowSeq; belowSeq > part.fromSeq; ) {
    let fromSeq = Math.max(part.fromSeq, belowSeq - stepRows);
    let count = belowSeq - fromSeq;
    if (part.isUnhandled) {
      const step = await storage.unhandledBelow(belowSeq, stepRows);
      if (!step) break;
      const isLast = step.count < stepRows;
      fromSeq = isLast ? part.fromSeq : Math.max(part.fromSeq, step.fromSeq);
      count = step.count;
    }
    const rows = await storage.find({ ...part, fromSeq, belowSeq }, search, rowsMax);
    // More may follow in the same step.
    const lastSeq = rows.length === rowsMax ? rows.at(-1)?.seq : undefined;
    looked += lastSeq === undefined ? count : Math.min(count, belowSeq - lastSeq);
    belowSeq = lastSeq ?? fromSeq;
    yield { rows, looked, beforeSeq: belowSeq };
    stepRows = Math.min(storage.stepRows, 4 * stepRows);
  }
  return looked;
}

/** The number of the first row that was received at a time or later, by bisection: the times of receipt have no index. */
async function placeOf(
  storage: SearchedStorage,
  timeMs: number,
  first: number,
  last: number,
): Promise<number> {
  let earlier = first - 1;
  let later = last + 1;
  while (later - earlier > 1) {
    const middle = Math.floor((earlier + later) / 2);
    const row = await storage.receiptFrom(middle);
    if (row && row.receivedAtMs < timeMs) earlier = row.seq;
    else later = middle;
  }
  return later;
}

/** Processes that store at the same time have their numbers earlier than their times. */
const slackMs = 60_000;
export const stepRowsDefault = 1_000;

/** `list` of a store that has `search`. */
export const listBy =
  (search: (given: InboxSearch) => AsyncIterable<InboxSearchStep>) =>
  async ({ limit = 50, ...filter }: InboxRowFilter): Promise<readonly InboxRowSummary[]> => {
    const found: InboxRowSummary[] = [];
    if (limit < 1) return found;
    for await (const { rows } of search({ ...filter, stepRows: Math.min(limit, stepRowsDefault) })) {
      for (const row of rows) found.push(row);
      if (found.length >= limit) break;
    }
    return found.slice(0, limit);
  };

/** Rows of memory, which has all that a search asks for. */
export function matches(row: InboxRowSummary, body: Uint8Array | null, search: InboxSearch): boolean {
  const { states, source, events, keyText, errorText, bodyText, idEnd, sinceMs, untilMs, beforeSeq } = search;
  const timeMs = timeOf(row);
  return (
    (!states || states.includes(row.state)) &&
    (source === undefined || row.source === source) &&
    (!events || events.some((pattern) => toExpression(pattern).test(row.event ?? ""))) &&
    (keyText === undefined || (row.orderKey ?? "").includes(keyText)) &&
    (errorText === undefined || oneLine(row.lastError ?? "").includes(oneLine(errorText))) &&
    (bodyText === undefined || (body !== null && Buffer.from(body).includes(bodyText))) &&
    (idEnd === undefined || row.id.endsWith(idEnd)) &&
    (sinceMs === undefined || timeMs >= sinceMs) &&
    (untilMs === undefined || timeMs < untilMs) &&
    (beforeSeq === undefined || row.seq < beforeSeq)
  );
}

/** When a dead row died, and when another one was received. */
export const timeOf = ({
  state,
  diedAtMs,
  receivedAtMs,
}: Pick<InboxRowSummary, "state" | "diedAtMs" | "receivedAtMs">) =>
  state === "dead" ? (diedAtMs ?? receivedAtMs) : receivedAtMs;

const oneLine = (text: string) => text.replaceAll("\n", " ");

const toExpression = (pattern: string) =>
  new RegExp(
    `^${pattern
      .split("*")
      .map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"))
      .join(".*")}$`,
    "s",
  );
