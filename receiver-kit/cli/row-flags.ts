// The filters of rows, once for the help texts and the parsers of all commands that have them.

import { type FlagValues, flag, list, text, UsageError } from "@workspace-tasks/kernel/cli/command-line.ts";
import { type InboxRowState, rowStates } from "../inbox/inbox.ts";
import { type RowFilter, readTime } from "../maintenance/row-filter.ts";

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

function parseStates(value: string): readonly InboxRowState[] | undefined {
  const states = value.split(",").map((each) => rowStates.find((state) => state === each));
  return states.every((state) => state !== undefined) ? states : undefined;
}
