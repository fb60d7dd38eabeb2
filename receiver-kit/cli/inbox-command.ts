import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import * as cli from "@workspace-tasks/kernel/cli/command-line.ts";
import {
  CommandError,
  type FlagValues,
  flag,
  text,
  toggle,
  UsageError,
  wholeNumber,
} from "@workspace-tasks/kernel/cli/command-line.ts";
import { systemClock } from "@workspace-tasks/kernel/clock.ts";
import { isError } from "@workspace-tasks/kernel/realm.ts";
import { visible } from "@workspace-tasks/kernel/visible.ts";
import {
  type InboxRowReference,
  type InboxRowState,
  type InboxRowSummary,
  type InboxStore,
  rowStates,
} from "../inbox/inbox.ts";
import { discardRow, replayRow } from "../maintenance/replay.ts";
import { changeRows, endOfId, findRows, type RowFilter, readTime } from "../maintenance/row-filter.ts";
import { createInboxPage } from "../page/inbox-page.ts";
import { createSummary, renderRow, renderRows, renderStats, rowToJson } from "./inbox-report.ts";
import { inboxCommand, type Output, position, sourceFlag, storeVariable } from "./inbox-subcommand.ts";

const timeForms = "such as 2h, 30m, 02:00, 02:00Z or 2026-03-01T02:00";
const time = (about: string) =>
  flag("<time>", about, {
    parse: (value) => (readTime(value, 0) === undefined ? undefined : value),
    expected: `a time ${timeForms}`,
  });

/** The filters of rows, once for the help texts and the parsers of all commands that have them. */
const filterFlags = {
  state: flag<readonly InboxRowState[]>(
    "<states>",
    `rows in these states: ${rowStates.join(", ")}; several with commas`,
    {
      parse: parseStates,
      expected: rowStates.join(", "),
      known: rowStates,
    },
  ),
  event: cli.list("<names>", "rows of these events; * is any text, as in 'task.*'"),
  task: text("<id>", "rows of this task and its stages; … and the end of its id will do"),
  client: text("<id>", "rows whose body names this client"),
  error: text("<text>", "rows whose last error contains this text"),
  since: time(
    `rows of this time or later: dead ones by when they died, others by their receipt; ${timeForms}, local without Z`,
  ),
  until: time("rows of an earlier time"),
};

const filterNames = Object.keys(filterFlags).map((name) => `--${name}`);

/** @throws {UsageError} for an empty text, which all rows have, and for times that no row can have */
function toFilter(flags: FlagValues<typeof filterFlags>, nowMs: number): RowFilter {
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

/** A subcommand that copies the file of a SQLite inbox. */
function copyCommand(command: {
  readonly name: string;
  readonly about: string;
  readonly notes: string;
  copy(file: string, other: string): Promise<{ readonly bytes: number; readonly report: string }>;
}): cli.Subcommand {
  const { name, about, notes, copy } = command;
  const run = cli.defineCommand({
    name,
    synopsis: "<backup file> [options]",
    about: `${about.charAt(0).toUpperCase()}${about.slice(1)}.`,
    flags: {
      store: text("<file>", `the SQLite file of the inbox (${storeVariable})`),
      json: toggle("print one JSON document instead of text"),
    },
    notes: `${notes}\nExit code: 0 done, 2 wrong arguments, or not done, with the reason.`,
    failureCode: 2,
    async run(args, io) {
      const { store = io.env[storeVariable], json } = args.flags;
      const copied = cli.onlyArgument(args, "one backup file");
      if (store === undefined) throw new UsageError(`expected --store <file> or ${storeVariable}`);
      if (/^[\w+.-]+:\/\//.test(store))
        throw new CommandError(
          `--store: ${name} is for SQLite files; for PostgreSQL use its own tools, such as pg_dump`,
        );
      const file = path.resolve(store);
      const other = path.resolve(copied);
      if (file === other) throw new UsageError("expected two files, got the file of the inbox twice");
      const { bytes, report } = await copy(file, other).catch((error: unknown) => {
        throw isError(error) ? new CommandError(error.message) : error;
      });
      if (json) cli.writeData(io, cli.toJson({ file, backup: other, bytes }));
      else cli.write(io, `${report}\n`);
      return 0;
    },
  });
  return { about, run };
}

const backup = copyCommand({
  name: "backup",
  about: "copy a SQLite inbox into a new file, also while receivers use it",
  notes: "The copy is checked, on disk, and for its owner only (mode 600).",
  async copy(file, other) {
    if (!existsSync(file)) throw new CommandError(`--store: no file ${file}; pass the file of sqliteInbox`);
    const { backUpSqlite } = await import("../inbox/sqlite/sqlite-backup.ts");
    const bytes = await backUpSqlite(file, other);
    return { bytes, report: `${other}  ${bytes} bytes` };
  },
});

const restore = copyCommand({
  name: "restore",
  about: "put a backup in the place of a SQLite inbox that no process uses",
  notes: `The backup is checked first. The -wal and -shm of the inbox are removed. Its previous file is kept, with
the suffix .replaced: it has what was stored after the backup.`,
  async copy(file, other) {
    if (!existsSync(other)) throw new CommandError(`no file ${other}`);
    const { restoreSqlite } = await import("../inbox/sqlite/sqlite-backup.ts");
    const had = existsSync(file);
    const bytes = await restoreSqlite(file, other);
    const kept = had ? `; what was there before: ${file}.replaced` : "";
    return { bytes, report: `${file}  ${bytes} bytes${kept}` };
  },
});

const page = inboxCommand({
  name: "page",
  about: "serve a page of the inbox to this computer, until Ctrl+C",
  flags: {
    port: wholeNumber("port on 127.0.0.1; 0 for a free one", { min: 0, max: 65_535, fallback: 4030 }),
    readOnly: toggle("nothing can be replayed or discarded"),
    showBodies: toggle("show the bodies of events, which hold tax data"),
  },
  check: cli.noArgument,
  async use(inbox, { flags: { port, readOnly, showBodies } }, io) {
    const note = (fields: object, message: string) =>
      cli.writeNotice(io, "page", `${message} ${visible(JSON.stringify(fields, textOfError))}`);
    const shown = {
      inbox,
      open: async () => {},
      source: null,
      stats: undefined,
      clock: systemClock,
      logger: { info() {}, warn: note, error: note },
    };
    const server = createServer(createInboxPage(shown, { authorize: "this-computer", readOnly, showBodies }));
    const failed = once(server, "error").then(([error]) => {
      throw new CommandError(`--port: ${error.message}`);
    });
    server.listen(port, "127.0.0.1");
    await Promise.race([once(server, "listening"), failed]);
    cli.write(io, `http://localhost:${(server.address() as AddressInfo).port}/  Ctrl+C stops it\n`);
    if (!io.stop.aborted) await Promise.race([once(io.stop, "abort"), failed]);
    server.close();
    server.closeAllConnections();
    failed.catch(() => {});
    return { text: () => "", value: null };
  },
});

const textOfError = (_name: string, value: unknown) => (isError(value) ? value.message : value);

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
