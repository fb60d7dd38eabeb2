import * as cli from "@workspace-tasks/kernel/cli/command-line.ts";
import { CommandError, toggle, UsageError, wholeNumber } from "@workspace-tasks/kernel/cli/command-line.ts";
import { systemClock } from "@workspace-tasks/kernel/clock.ts";
import type { InboxRowReference, InboxRowState, InboxRowSummary, InboxStore } from "../inbox/inbox.ts";
import { discardRow, replayRow } from "../maintenance/replay.ts";
import { changeRows, endOfId, findRows, type RowFilter } from "../maintenance/row-filter.ts";
import { backup, restore } from "./backup-commands.ts";
import { createSummary, renderRow, renderRows, renderStats, rowToJson } from "./inbox-report.ts";
import { inboxCommand, type Output, position, sourceFlag } from "./inbox-subcommand.ts";
import { page } from "./page-command.ts";
import { filterFlags, filterNames, toFilter } from "./row-flags.ts";

const list = inboxCommand({
  name: "list",
  about: "list rows, newest first",
  flags: {
    ...filterFlags,
    source: sourceFlag("only rows of this endpoint"),
    limit: wholeNumber("at most this many rows", { ...position, fallback: 50 }),
    before: wholeNumber("only rows stored before the row with this SEQ", position),
  },
  check: cli.noArgument,
  async use(inbox, { flags }, io) {
    const { source, limit, before: beforeSeq } = flags;
    const filter = toFilter(flags, systemClock.now());
    const { rows, looked } = await firstRows(inbox, filter, { source, beforeSeq, limit });
    const notes = [
      ...(rows.length === limit && looked > 0
        ? [`the newest ${limit}: --limit ${10 * limit} or --before ${rows.at(-1)?.seq} shows more`]
        : []),
      ...(looked > lookedMax
        ? [`looked at ${looked} rows: no index has what was asked for; --since or --state dead is quicker`]
        : []),
      ...timesOf(filter),
    ];
    for (const note of notes) cli.writeNotice(io, "list", note);
    return { text: (layout) => renderRows(rows, layout), value: rows };
  },
});

/** More are worth a word. */
const lookedMax = 100_000;

const show = inboxCommand({
  name: "show",
  synopsis: "[<webhook-id>…] [options]",
  about: "show rows with their bodies, by their ids or by filters, up to 20",
  flags: { ...filterFlags, source: sourceFlag() },
  check: (args) => requireWhich(args),
  async use(inbox, { flags, positionals }) {
    const { source } = flags;
    const found = await whichOf(inbox, source, positionals, toFilter(flags, systemClock.now()));
    const rows = await Promise.all(found.map((row) => detailsOf(inbox, row)));
    const values = rows.map(rowToJson);
    return {
      text: (layout) => rows.map((row) => renderRow(row, layout)).join("\n") || "no rows\n",
      value: positionals.length === 1 ? values[0] : values,
    };
  },
});

async function whichOf(
  inbox: InboxStore,
  source: string,
  ids: readonly string[],
  filter: RowFilter,
): Promise<readonly InboxRowReference[]> {
  if (ids.length === 0) return (await firstRows(inbox, filter, { source, limit: shownMax })).rows;
  return Promise.all(ids.map((id) => resolveId(inbox, source, id)));
}

const shownMax = 20;

async function detailsOf(inbox: InboxStore, row: InboxRowReference) {
  const found = await inbox.get(row);
  if (!found) throw new CommandError(`no row ${row.id} of source ${row.source}`, 1);
  return found;
}

/** A `webhook-id`, or `…` and the end of the only one that ends so. */
async function resolveId(inbox: InboxStore, source: string, given: string): Promise<InboxRowReference> {
  const idEnd = endOfId(given);
  if (idEnd === undefined) return { source, id: given };
  const [row, other] = await inbox.list({ source, idEnd, limit: 2 });
  if (row && !other) return { source, id: row.id };
  throw new CommandError(
    row ? `${given}: several ids end so: ${row.id}, ${other?.id}` : `no row ${given} of source ${source}`,
    1,
  );
}

const stats = inboxCommand({
  name: "stats",
  about: "count waiting, dead and quarantined rows up to 1,000, and show the longest wait",
  flags: {},
  check: cli.noArgument,
  async use(inbox) {
    const counts = await inbox.stats();
    return { text: ({ paint }) => renderStats(counts, paint), value: counts };
  },
});

const changeFlags = {
  ...filterFlags,
  source: sourceFlag(),
  yes: toggle("do not ask"),
  dryRun: toggle("change nothing: count and list the rows"),
};

interface Change {
  readonly name: "replay" | "discard";
  readonly about: string;
  /** What it did to a row. */
  readonly done: string;
  /** States of which it can change rows; those of a call without `--state`. */
  readonly states: readonly InboxRowState[];
  readonly flags: { readonly again?: ReturnType<typeof toggle> };
  change(inbox: InboxStore, row: InboxRowReference): Promise<string>;
}

/** A subcommand that changes rows, given by their ids or by filters. */
function changeCommand({ name, about, done, states: usual, flags: own, change }: Change): cli.Subcommand {
  return inboxCommand({
    name,
    synopsis: "[<webhook-id>…] [options]",
    about: `${about}, by their ids or by filters; without --state ${usual.join(" and ")} ones`,
    flags: { ...changeFlags, ...own } as typeof changeFlags & { again: ReturnType<typeof toggle> },
    check(args) {
      requireWhich(args);
      const repeated = args.flags.state?.filter((state) => state === "done" || state === "stale") ?? [];
      if (name === "replay" && repeated.length > 0 && !args.flags.again)
        throw new UsageError(
          `--state ${repeated.join()}: these events were handled; write --again to handle them again`,
        );
    },
    async use(inbox, { flags, positionals }, io) {
      const changeOne = async (row: InboxRowReference) => {
        const { state } = (name === "replay" && !flags.again && (await inbox.get(row))) || {};
        return state === "done" || state === "stale"
          ? "not-again: it was handled, --again repeats it"
          : change(inbox, row);
      };
      if (positionals.length > 0) return changeByIds(inbox, positionals, flags, changeOne);
      const filter = { states: usual, ...definedOf(toFilter(flags, systemClock.now())) };
      return changeByFilter(inbox, filter, { ...flags, name, done, changeOne }, io);
    },
  });
}

type ChangeOne = (row: InboxRowReference) => Promise<string>;

interface ChangeOptions {
  readonly source: string;
  readonly dryRun: boolean;
}

async function changeByIds(
  inbox: InboxStore,
  ids: readonly string[],
  { source, dryRun }: ChangeOptions,
  changeOne: ChangeOne,
): Promise<Output> {
  const value: (InboxRowReference & { readonly outcome: string })[] = [];
  for (const id of ids) {
    const row = await resolveId(inbox, source, id);
    const outcome = dryRun ? ((await inbox.get(row))?.state ?? "not-found") : await changeOne(row);
    value.push({ ...row, outcome });
  }
  return {
    text: () => value.map(({ id, outcome }) => `${id}  ${outcome}\n`).join(""),
    value,
    exitCode: value.some(({ outcome }) => outcome.startsWith("not-")) ? 1 : 0,
  };
}

interface BulkChange extends ChangeOptions, Pick<Change, "name" | "done"> {
  readonly yes: boolean;
  readonly changeOne: ChangeOne;
}

/** Counts the rows, asks, and changes those that were counted. */
async function changeByFilter(
  inbox: InboxStore,
  filter: RowFilter,
  { name, done, source, yes, dryRun, changeOne }: BulkChange,
  io: cli.CommandIo,
): Promise<Output> {
  const summary = createSummary();
  for await (const { rows } of findRows(inbox, filter, { source })) {
    if (io.stop.aborted) throw new CommandError("stopped: nothing was changed", 1);
    summary.add(rows);
  }
  const { count, newestSeq } = summary;
  for (const note of timesOf(filter)) cli.writeNotice(io, name, note);
  if (count === 0 || dryRun) {
    return {
      text: (layout) =>
        count === 0
          ? `no row of source ${source} matches\n`
          : `${renderRows(summary.newest, layout)}${summary.text(layout.nowMs)}\nnothing was changed: --dry-run\n`,
      value: { count, ...(dryRun ? { rows: summary.newest } : { counts: {}, unchanged: [] }) },
    };
  }
  if (!yes) {
    cli.write(io, `${summary.text(systemClock.now())}\n`, io.stderr);
    if (!io.ask) throw new UsageError("expected a terminal to ask at; write --yes to agree, or --dry-run");
    const answer = await io.ask(`${name === "replay" ? "Replay" : "Discard"} ${rowsText(count)}? [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError("nothing was changed", 1);
  }
  // What is stored meanwhile is newer.
  const steps = findRows(inbox, filter, { source, beforeSeq: newestSeq + 1 });
  const { counts, unchanged } = await changeRows(steps, changeOne, io.stop);
  const changed = counts[done] ?? 0;
  const rest = Object.entries(counts).filter(([outcome]) => outcome !== done);
  const isStopped = io.stop.aborted && Object.values(counts).reduce((sum, each) => sum + each, 0) < count;
  return {
    text: () =>
      [
        `${done} ${changed} of ${rowsText(count)}`,
        ...rest.map(([outcome, number]) => `${outcome} ${number}`),
        ...unchanged.map(({ id, outcome }) => `${id}  ${outcome}`),
        ...(isStopped ? ["stopped: the same command continues"] : []),
        "",
      ].join("\n"),
    value: { count, counts, unchanged },
    exitCode: unchanged.length > 0 || isStopped ? 1 : 0,
  };
}

const rowsText = (count: number) => `${count} row${count === 1 ? "" : "s"}`;

const replay = changeCommand({
  name: "replay",
  about: "pass events to their handlers again",
  done: "replayed",
  states: ["dead", "quarantined"],
  flags: { again: toggle("also events that were handled, in the states done and stale") },
  change: (inbox, row) => replayRow(inbox, row, systemClock.now()),
});

const discard = changeCommand({
  name: "discard",
  about: "discard dead or quarantined rows",
  done: "discarded",
  states: ["dead", "quarantined"],
  flags: {},
  change: discardRow,
});

/** Runs `workspace-tasks-inbox` and returns its exit code. */
export function runInboxCommand(argv: readonly string[], io: cli.CommandIo): Promise<number> {
  const group = {
    name: "",
    about: "Inspects and repairs the inbox of a receiver, a SQLite file or PostgreSQL.",
    subcommands: { list, show, replay, discard, stats, page, backup, restore },
  };
  return cli.runCommandGroup(group, argv, io);
}

/** Either ids or filters: neither would mean all rows, and both is a mistake. */
function requireWhich({
  flags,
  positionals,
}: {
  readonly flags: object;
  readonly positionals: readonly string[];
}): void {
  const isFiltered = filterNames.some((name) => {
    const value = (flags as Readonly<Record<string, unknown>>)[name.slice(2)];
    return Array.isArray(value) ? value.length > 0 : value !== undefined;
  });
  if (positionals.length > 0 !== isFiltered) return;
  const got = isFiltered ? "both" : "neither";
  throw new UsageError(`expected either webhook-ids or a filter, ${filterNames.join(", ")}; got ${got}`);
}

/** How times were understood. */
const timesOf = ({ sinceMs, untilMs }: RowFilter): readonly string[] =>
  [["since", sinceMs] as const, ["until", untilMs] as const].flatMap(([name, timeMs]) =>
    timeMs === undefined ? [] : [`${name} ${new Date(timeMs).toISOString()}`],
  );

const definedOf = <Value extends object>(value: Value): Value =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as Value;

async function firstRows(
  inbox: InboxStore,
  filter: RowFilter,
  {
    source,
    beforeSeq,
    limit,
  }: {
    readonly source?: string | undefined;
    readonly beforeSeq?: number | undefined;
    readonly limit: number;
  },
) {
  const found: InboxRowSummary[] = [];
  let lookedAt = 0;
  for await (const { rows, looked } of findRows(inbox, filter, {
    source,
    beforeSeq,
    stepRows: Math.min(limit, 1_000),
  })) {
    lookedAt = looked;
    found.push(...rows);
    if (found.length >= limit) break;
  }
  return { rows: found.slice(0, limit), looked: lookedAt };
}
