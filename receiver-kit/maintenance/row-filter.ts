// Which rows an operator means, and what happens to all of them. A database narrows the rows down by parts of texts; what that
// leaves is compared exactly, so that a bulk change never has a row that only looks alike.

import { orderKey } from "../event/event-order.ts";
import { namedClient, readJson } from "../event/parse-delivery.ts";
import type {
  InboxOperatorStore,
  InboxRowReference,
  InboxRowSummary,
  InboxSearch,
  InboxSearchStep,
} from "../inbox/inbox.ts";

export interface RowFilter extends Pick<InboxSearch, "states" | "events" | "sinceMs" | "untilMs"> {
  /** Id of a task, or `…` and its end; the rows of its stages too. */
  readonly task?: string | undefined;
  /** `clientId` of the body, or `…` and its end. A row whose body was removed is not found. */
  readonly client?: string | undefined;
  /** Part of the last error, case-sensitive; a line break counts as a space. */
  readonly error?: string | undefined;
}

/** Newest first, in steps. */
export async function* findRows(
  inbox: InboxOperatorStore,
  filter: RowFilter,
  place: Pick<InboxSearch, "source" | "beforeSeq" | "stepRows">,
): AsyncGenerator<InboxSearchStep> {
  const { task, client, error: errorText, ...shared } = filter;
  const search = {
    ...place,
    ...shared,
    errorText,
    keyText: task === undefined ? undefined : keyTextOf(task),
    bodyText: client === undefined ? undefined : plainPart(client),
  };
  for await (const { rows, ...place } of inbox.search(search)) {
    const exact = rows.filter(({ orderKey: key }) => task === undefined || isOfTask(key, task));
    const ofClient: InboxRowSummary[] = [];
    for (const row of exact)
      if (client === undefined || (await isOfClient(inbox, row, client))) ofClient.push(row);
    yield { ...place, rows: ofClient };
  }
}

/** What is written before the end of an id. */
const ellipsis = /^(?:…|\.\.\.)(?=.)/;

/** The end of an id that is given as `…` and its end. */
export const endOfId = (given: string): string | undefined =>
  ellipsis.test(given) ? given.replace(ellipsis, "") : undefined;

const isId = (id: string, given: string) => {
  const end = endOfId(given);
  return end === undefined ? id === given : id.endsWith(end);
};

/** How the key of a task and those of its stages contain its id. */
function keyTextOf(task: string): string {
  const end = endOfId(task);
  if (end !== undefined) return JSON.stringify(end).slice(1);
  const key = orderKey([task]);
  return key.includes(JSON.stringify(task)) ? JSON.stringify(task) : key;
}

function isOfTask(key: string | null, task: string): boolean {
  const found = taskOf(key);
  return (found !== undefined && isId(found, task)) || key === orderKey([task]);
}

/** The task of a key; `undefined` where the key does not name it. */
export function taskOf(key: string | null): string | undefined {
  const [task, stage] = key === null ? [] : (JSON.parse(key) as readonly string[]);
  return task === "" && stage === "" ? undefined : task;
}

async function isOfClient(
  inbox: InboxOperatorStore,
  row: InboxRowReference,
  client: string,
): Promise<boolean> {
  const body = (await inbox.get(row))?.body;
  const id = body ? namedClient(readJson(body)) : undefined;
  return typeof id === "string" && isId(id, client);
}

/** The longest part of an id that JSON writes as it is. */
function plainPart(id: string): string | undefined {
  const parts = (endOfId(id) ?? id).match(/[\w.:-]+/g) ?? [];
  return parts.toSorted((a, b) => b.length - a.length)[0];
}

export interface ChangedRows {
  /** How many rows had each outcome. */
  readonly counts: Readonly<Record<string, number>>;
  /** The first of those that could not be changed. */
  readonly unchanged: readonly (InboxRowReference & { readonly outcome: string })[];
}

/** Changes rows, some of them at once; memory for a step of them is all it takes. Ends early when `signal` aborts. */
export async function changeRows(
  steps: AsyncIterable<InboxSearchStep>,
  change: (row: InboxRowReference) => Promise<string>,
  signal?: AbortSignal,
): Promise<ChangedRows> {
  const counts: Record<string, number> = {};
  const unchanged: (InboxRowReference & { readonly outcome: string })[] = [];
  for await (const { rows } of steps) {
    for (let at = 0; at < rows.length && !signal?.aborted; at += atOnce) {
      await Promise.all(
        rows.slice(at, at + atOnce).map(async ({ source, id }) => {
          const outcome = await change({ source, id });
          counts[outcome] = (counts[outcome] ?? 0) + 1;
          if (outcome.startsWith("not-") && unchanged.length < unchangedMax)
            unchanged.push({ source, id, outcome });
        }),
      );
    }
    if (signal?.aborted) break;
  }
  return { counts, unchanged };
}

const atOnce = 16;
const unchangedMax = 20;

const unitMs: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/**
 * A time as people write it: an age, a time of the last 24 hours, a day, or both; of the zone of this process unless it names one.
 * `undefined` for other texts.
 */
export function readTime(given: string, nowMs: number): number | undefined {
  const [, count, unit = ""] = /^(\d{1,6}) ?(s|m|min|h|d)$/.exec(given) ?? [];
  if (count !== undefined) return nowMs - Number(count) * (unitMs[unit] ?? 0);
  const found = /^(?:(\d{4}-\d\d-\d\d)[T ]?)?(\d{1,2}:\d\d(?::\d\d)?(?:\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/.exec(
    given,
  );
  if (!found || (found[1] === undefined && found[2] === undefined)) return undefined;
  const [, day, clock = "00:00", zone = ""] = found;
  if (day !== undefined && !isDay(day)) return undefined;
  const [hour = "", ...rest] = clock.split(":");
  const of = (date: string) =>
    Date.parse(
      `${date}T${[hour.padStart(2, "0"), ...rest].join(":")}${zone.replace(/(\d\d)(\d\d)$/, "$1:$2")}`,
    );
  if (day !== undefined) return numberOrUndefined(of(day));
  // The zone may have another day than this process: the last of the days around that has passed is meant.
  const times = [1, 0, -1, -2].map((days) => of(localDay(nowMs + days * 86_400_000)));
  if (times.some(Number.isNaN)) return undefined;
  return times.find((timeMs) => timeMs <= nowMs) ?? times.at(-1);
}

const numberOrUndefined = (value: number) => (Number.isNaN(value) ? undefined : value);

function isDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}

function localDay(ms: number): string {
  const date = new Date(ms);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}
