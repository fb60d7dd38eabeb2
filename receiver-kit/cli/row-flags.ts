// The filters of rows, once for the help texts and the parsers of all commands that have them.

import { type FlagValues, flag, list, text, UsageError } from "@workspace-tasks/kernel/cli/command-line.ts";
import { type InboxRowState, rowStates } from "../inbox/inbox.ts";
import type { RowFilter } from "../maintenance/row-filter.ts";

const timeForms = "such as 2h, 30m, 02:00, 02:00Z or 2026-03-01T02:00";
const time = (about: string) =>
  flag("<time>", about, {
    parse: (value) => (readTime(value, 0) === undefined ? undefined : value),
    expected: `a time ${timeForms}`,
  });

export const filterFlags = {
  state: flag<readonly InboxRowState[]>(
    "<states>",
    `rows in these states: ${rowStates.join(", ")}; several with commas`,
    {
      parse: parseStates,
      expected: rowStates.join(", "),
      known: rowStates,
    },
  ),
  event: list("<names>", "rows of these events; * is any text, as in 'task.*'"),
  task: text("<id>", "rows of this task and its stages; … and the end of its id will do"),
  client: text("<id>", "rows whose body names this client"),
  error: text("<text>", "rows whose last error contains this text"),
  since: time(
    `rows of this time or later: dead ones by when they died, others by their receipt; ${timeForms}, local without Z`,
  ),
  until: time("rows of an earlier time"),
};

export const filterNames = Object.keys(filterFlags).map((name) => `--${name}`);

/** @throws {UsageError} for an empty text, which all rows have, and for times that no row can have */
export function toFilter(flags: FlagValues<typeof filterFlags>, nowMs: number): RowFilter {
  const { state: states, event, task, client, error } = flags;
  for (const [name, value] of Object.entries({ task, client, error }))
    if (value === "" || value?.includes("\0"))
      throw new UsageError(`--${name}: expected a text, got ${JSON.stringify(value)}`);
  const timeOf = (given: string | undefined) => (given === undefined ? undefined : readTime(given, nowMs));
  const sinceMs = timeOf(flags.since);
  const untilMs = timeOf(flags.until);
  if (sinceMs !== undefined && sinceMs > nowMs)
    throw new UsageError(`--since: expected a time that has passed, got ${new Date(sinceMs).toISOString()}`);
  if (sinceMs !== undefined && untilMs !== undefined && untilMs <= sinceMs)
    throw new UsageError("--until: expected a later time than --since");
  const events = event.length > 0 ? event : undefined;
  return { states, events, task, client, error, sinceMs, untilMs };
}

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
  // Of the days around, as the zone may have another day than this process: the last one that has passed.
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

function parseStates(value: string): readonly InboxRowState[] | undefined {
  const states = value.split(",").map((each) => rowStates.find((state) => state === each));
  return states.every((state) => state !== undefined) ? states : undefined;
}
