import { existsSync } from "node:fs";
import { CommandError, UsageError } from "../../cli/command-error.ts";
import {
  type Command,
  type CommandIo,
  noArgument,
  onlyArgument,
  runCommand,
  runCommandGroup,
  toJson,
  write,
} from "../../cli/command-line.ts";
import { type FlagTable, flag, text, toggle, wholeNumber } from "../../cli/flags.ts";
import { systemClock } from "../clock.ts";
import { type Inbox, type RowFilter, type RowState, rowStates } from "../inbox/inbox.ts";
import { replayRow } from "../worker/replay.ts";
import { renderRow, renderRows, renderStats, rowToJson } from "./inbox-report.ts";

const storeVariable = "WORKSPACE_TASKS_INBOX";

const storeFlags = {
  store: text("<file or URL>", `a SQLite file or postgres://… (${storeVariable})`),
  schema: text("<name>", "schema of the PostgreSQL inbox", "workspace_tasks"),
  json: toggle("print one JSON document instead of text"),
};

const position = { min: 1, max: Number.MAX_SAFE_INTEGER } as const;
const states = (about: string) =>
  flag("<states>", `${about}: ${rowStates.join(", ")}; several with commas`, {
    parse: parseStates,
    expected: rowStates.join(", "),
    known: rowStates,
  });

const exitCodes = `Exit code: 0 done, 1 a row was not found or its state does not allow it,
2 wrong arguments or no inbox.`;

const listFlags = {
  ...storeFlags,
  source: text("<name>", "only rows of this endpoint"),
  state: states("only rows in these states"),
  limit: wholeNumber("at most this many rows (50)", position),
  before: wholeNumber("only rows stored before the row with this SEQ", position),
};

const list: Command<typeof listFlags> = {
  name: "inbox list",
  synopsis: "[options]",
  about: "Lists rows, newest first.",
  flags: listFlags,
  notes: exitCodes,
  async run(args, io) {
    noArgument(args);
    const { source, state, limit, before, json } = args.flags;
    const filter = withoutUndefined({ source, states: state, limit, beforeSeq: before });
    const rows = await withInbox(args.flags, io, (inbox) => inbox.list(filter));
    return write(io, json ? toJson(rows) : renderRows(rows));
  },
};

const rowFlags = { ...storeFlags, source: text("<name>", "endpoint of the row", "default") };

const show: Command<typeof rowFlags> = {
  name: "inbox show",
  synopsis: "<webhook-id> [options]",
  about: "Shows one row with its body.",
  flags: rowFlags,
  notes: exitCodes,
  async run(args, io) {
    const id = onlyArgument(args, "one webhook-id");
    const { source, json } = args.flags;
    const row = await withInbox(args.flags, io, (inbox) => inbox.get({ source, id }));
    if (!row) throw new CommandError(`no row ${id} of source ${source}`);
    return write(io, json ? toJson(rowToJson(row)) : renderRow(row));
  },
};

const stats: Command<typeof storeFlags> = {
  name: "inbox stats",
  synopsis: "[options]",
  about: "Counts rows by state, and shows the longest wait.",
  flags: storeFlags,
  notes: exitCodes,
  async run(args, io) {
    noArgument(args);
    const counts = await withInbox(args.flags, io, (inbox) => inbox.stats());
    return write(io, args.flags.json ? toJson(counts) : renderStats(counts));
  },
};

const changeFlags = { ...rowFlags, state: states("instead of ids, all rows in these states") };

interface RowKey {
  readonly source: string;
  readonly id: string;
}

/** A command that changes rows, given by their ids or by their states. */
function changeCommand(
  name: string,
  about: string,
  change: (inbox: Inbox, row: RowKey) => Promise<string>,
): Command<typeof changeFlags> {
  return {
    name: `inbox ${name}`,
    synopsis: "[<webhook-id>…] [options]",
    about,
    flags: changeFlags,
    notes: exitCodes,
    run: ({ flags, positionals: ids }, io) => {
      if (ids.length > 0 === (flags.state !== undefined)) {
        const got = ids.length > 0 ? "both" : "neither";
        throw new UsageError(`expected either webhook-ids or --state <states>, got ${got}`);
      }
      return withInbox(flags, io, async (inbox) => {
        const results: (RowKey & { readonly outcome: string })[] = [];
        for await (const { source, id } of selectedRows(inbox, ids, flags.source, flags.state)) {
          results.push({ source, id, outcome: await change(inbox, { source, id }) });
        }
        const lines = results.map(({ id, outcome }) => `${id}  ${outcome}\n`).join("");
        write(io, flags.json ? toJson(results) : lines);
        return results.some(({ outcome }) => outcome.startsWith("not-")) ? 1 : 0;
      });
    },
  };
}

const replay = changeCommand(
  "replay",
  `Sends dead, quarantined or settled events to their handlers again. A running
receiver picks replayed rows up by itself.`,
  (inbox, row) => replayRow(inbox, row, systemClock.now()),
);

const discard = changeCommand("discard", "Discards dead or quarantined rows.", async (inbox, row) => {
  if (await inbox.discard(row)) return "discarded";
  return (await inbox.get(row)) ? "not-discardable" : "not-found";
});

const subcommand = <Table extends FlagTable>(about: string, command: Command<Table>) => ({
  about,
  run: (argv: readonly string[], io: CommandIo) => runCommand(command, argv, io),
});

const group = {
  name: "inbox",
  about: "Inspects and repairs the inbox of a receiver, a SQLite file or PostgreSQL.",
  subcommands: {
    list: subcommand("list rows, newest first", list),
    show: subcommand("show one row with its body", show),
    replay: subcommand("send dead, quarantined or settled events to their handlers again", replay),
    discard: subcommand("discard dead or quarantined rows", discard),
    stats: subcommand("count rows by state", stats),
  },
};

/** Runs `workspace-tasks inbox` and returns its exit code. */
export function runInboxCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  return runCommandGroup(group, argv, io);
}

async function* selectedRows(
  inbox: Inbox,
  ids: readonly string[],
  source: string,
  states: readonly RowState[] | undefined,
): AsyncGenerator<RowKey> {
  for (const id of ids) yield { source, id };
  if (!states) return;
  // A changed row leaves the state but keeps its position, so pages go by position.
  let beforeSeq: number | undefined;
  do {
    const page = await inbox.list({ source, states, limit: 100, ...withoutUndefined({ beforeSeq }) });
    yield* page;
    beforeSeq = page.at(-1)?.seq;
  } while (beforeSeq !== undefined);
}

function parseStates(value: string): readonly RowState[] | undefined {
  const states = value.split(",").map((each) => rowStates.find((state) => state === each));
  return states.every((state) => state !== undefined) ? states : undefined;
}

function withoutUndefined(
  filter: { readonly [Name in keyof RowFilter]: RowFilter[Name] | undefined },
): RowFilter {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
}

interface StoreFlags {
  readonly store: string | undefined;
  readonly schema: string;
}

async function withInbox<Result>(
  { store, schema }: StoreFlags,
  io: CommandIo,
  use: (inbox: Inbox) => Promise<Result>,
): Promise<Result> {
  const location = store ?? io.env[storeVariable];
  if (location === undefined) throw new UsageError(`expected --store <file or URL> or ${storeVariable}`);
  const isPostgres = /^postgres(ql)?:\/\//.test(location);
  const { inbox, close } = isPostgres ? await postgres(location, schema) : await sqlite(location);
  try {
    await inbox.open().catch((cause: unknown) => {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new CommandError(`--store: the inbox cannot be opened: ${reason}`, 2);
    });
    return await use(inbox);
  } finally {
    await close();
  }
}

async function postgres(connectionString: string, schema: string) {
  const { default: pg } = await import("pg").catch(() => {
    throw new CommandError("--store: expected the package pg to be installed; try npm install pg", 2);
  });
  const { postgresInbox } = await import("../inbox/postgres/postgres-inbox.ts");
  const pool = new pg.Pool({ connectionString, max: 2, connectionTimeoutMillis: 10_000 });
  const inbox: Inbox = postgresInbox(pool, { schema, migrate: false });
  const close = async () => {
    await inbox.close();
    await pool.end();
  };
  return { inbox, close };
}

async function sqlite(path: string) {
  if (!existsSync(path)) throw new CommandError(`--store: no file ${path}`, 2);
  const { sqliteInbox } = await import("../inbox/sqlite/sqlite-inbox.ts");
  const inbox: Inbox = sqliteInbox(path);
  return { inbox, close: () => inbox.close() };
}
