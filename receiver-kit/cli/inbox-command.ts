import { existsSync } from "node:fs";
import { parseArgs } from "node:util";
import type { CommandIo } from "../../cli/command-line.ts";
import { systemClock } from "../clock.ts";
import { type Inbox, type RowFilter, type RowState, rowStates } from "../inbox/inbox.ts";
import { replayRow } from "../worker/replay.ts";
import { renderRow, renderRows, renderStats, rowToJson } from "./inbox-report.ts";

const storeVariable = "WORKSPACE_TASKS_INBOX";

const usage = `Usage: workspace-tasks inbox <command> --store <file or URL> [options]

  list                    rows, newest first
  show <webhook-id>       one row with its body
  replay <webhook-id>…    have dead, quarantined or settled events handled again
  discard <webhook-id>…   put dead or quarantined rows aside
  stats                   rows by state, and the longest wait

  --store <file or URL>   a SQLite file or postgres://… (${storeVariable})
  --schema <name>         schema of the PostgreSQL inbox (workspace_tasks)
  --source <name>         endpoint the rows belong to (default); list: all
  --state <states>        list, replay, discard: only rows in these states, of
                          ${rowStates.slice(0, 4).join(", ")},
                          ${rowStates.slice(4).join(", ")}
  --limit <n>             list: at most so many rows (50)
  --before <seq>          list: only rows stored before this one
  --json                  one JSON document instead of text
  --help                  this text

replay and discard take either ids or --state, which then means every row in
that state. A running receiver picks replayed rows up by itself.

Exit code: 0 done, 1 a row was not found or its state does not allow it,
2 wrong arguments or no inbox.
`;

class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Runs `workspace-tasks inbox` and returns its exit code. */
export async function runInboxCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  let close = async () => {};
  try {
    const { values, positionals } = readArguments(argv);
    const [command, ...ids] = positionals;
    if (values.help || command === undefined) return say(io, usage, values.help ? 0 : 2);
    const run = commands[command];
    if (!run) throw new UsageError(`expected one of ${Object.keys(commands).join(", ")}, got ${command}`);
    const request = toRequest(values, ids);
    const opened = await openStore(values.store ?? io.env?.[storeVariable], values.schema);
    close = opened.close;
    return await run(opened.inbox, request, io);
  } catch (error) {
    const hint = error instanceof UsageError ? "\nTry workspace-tasks inbox --help" : "";
    io.stderr.write(`inbox: ${error instanceof Error ? error.message : String(error)}${hint}\n`);
    return 2;
  } finally {
    await close();
  }
}

function readArguments(argv: readonly string[]) {
  const text = { type: "string" } as const;
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        store: text,
        schema: text,
        source: text,
        state: text,
        limit: text,
        before: text,
        json: { type: "boolean" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    // parseArgs names the argument that is wrong.
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

type Values = ReturnType<typeof readArguments>["values"];
type Request = {
  readonly ids: readonly string[];
  readonly source: string | undefined;
  readonly filter: RowFilter;
  readonly json: boolean;
};
type Command = (inbox: Inbox, request: Request, io: CommandIo) => Promise<number>;

const commands: Readonly<Record<string, Command>> = {
  async list(inbox, { filter, json }, io) {
    const rows = await inbox.list(filter);
    return say(io, json ? toJson(rows) : renderRows(rows));
  },

  async show(inbox, { ids, source = "default", json }, io) {
    const [id] = ids;
    if (id === undefined || ids.length > 1)
      throw new UsageError(`show: expected one webhook-id, got ${ids.length}`);
    const row = await inbox.get({ source, id });
    if (!row) {
      io.stderr.write(`inbox: no row ${id} of source ${source}\n`);
      return 1;
    }
    return say(io, json ? toJson(rowToJson(row)) : renderRow(row));
  },

  replay: (inbox, request, io) =>
    forEachRow(inbox, request, io, ({ source, id }) => replayRow(inbox, { source, id }, systemClock.now())),

  discard: (inbox, request, io) =>
    forEachRow(inbox, request, io, async ({ source, id }) => {
      if (await inbox.discard({ source, id })) return "discarded";
      return (await inbox.get({ source, id })) ? "not-discardable" : "not-found";
    }),

  async stats(inbox, { json }, io) {
    const stats = await inbox.stats();
    return say(io, json ? toJson(stats) : renderStats(stats));
  },
};

type Row = { readonly source: string; readonly id: string };

async function forEachRow(
  inbox: Inbox,
  request: Request,
  io: CommandIo,
  change: (row: Row) => Promise<string>,
): Promise<number> {
  const results: (Row & { readonly outcome: string })[] = [];
  for await (const { source, id } of chosenRows(inbox, request)) {
    results.push({ source, id, outcome: await change({ source, id }) });
  }
  const failed = results.filter(({ outcome }) => outcome.startsWith("not-")).length;
  say(io, request.json ? toJson(results) : results.map(({ id, outcome }) => `${id}  ${outcome}\n`).join(""));
  return failed > 0 ? 1 : 0;
}

async function* chosenRows(inbox: Inbox, { ids, source = "default", filter }: Request): AsyncGenerator<Row> {
  if (ids.length > 0 === (filter.states !== undefined)) {
    throw new UsageError("expected either webhook-ids or --state");
  }
  for (const id of ids) yield { source, id };
  if (!filter.states) return;
  // A changed row leaves the state but keeps its place, so pages go by place.
  for (let beforeSeq = filter.beforeSeq; ; ) {
    const page = await inbox.list({
      ...filter,
      source,
      limit: 100,
      ...(beforeSeq === undefined ? {} : { beforeSeq }),
    });
    yield* page;
    beforeSeq = page.at(-1)?.seq;
    if (beforeSeq === undefined) return;
  }
}

function toRequest(values: Values, ids: readonly string[]): Request {
  const states = values.state?.split(",").map((state) => {
    if (!(rowStates as readonly string[]).includes(state)) {
      throw new UsageError(`--state: expected ${rowStates.join(", ")}, got ${state}`);
    }
    return state as RowState;
  });
  return {
    ids,
    source: values.source,
    json: values.json ?? false,
    filter: {
      ...(states ? { states } : {}),
      ...(values.source === undefined ? {} : { source: values.source }),
      ...(values.limit === undefined ? {} : { limit: wholeNumber("--limit", values.limit) }),
      ...(values.before === undefined ? {} : { beforeSeq: wholeNumber("--before", values.before) }),
    },
  };
}

function wholeNumber(name: string, text: string): number {
  if (/^[1-9][0-9]{0,14}$/.test(text)) return Number(text);
  throw new UsageError(`${name}: expected a positive whole number, got ${text}`);
}

async function openStore(store: string | undefined, schema = "workspace_tasks") {
  if (store === undefined) throw new UsageError(`expected --store or ${storeVariable}`);
  return /^postgres(ql)?:\/\//.test(store) ? openPostgres(store, schema) : openSqlite(store);
}

async function openPostgres(connectionString: string, schema: string) {
  const { default: pg } = await import("pg").catch((cause: unknown) => {
    throw new Error("expected the package pg; try: npm install pg", { cause });
  });
  const { postgresInbox } = await import("../postgres.ts");
  const pool = new pg.Pool({ connectionString, max: 2, connectionTimeoutMillis: 10_000 });
  const inbox: Inbox = postgresInbox(pool, { schema, migrate: false });
  const close = async () => {
    await inbox.close();
    await pool.end();
  };
  return openOrClose(inbox, close);
}

async function openSqlite(path: string) {
  if (!existsSync(path)) throw new Error(`no file ${path}`);
  const { sqliteInbox } = await import("../sqlite.ts");
  const inbox: Inbox = sqliteInbox(path);
  return openOrClose(inbox, () => inbox.close());
}

async function openOrClose(inbox: Inbox, close: () => Promise<void>) {
  try {
    await inbox.open();
    return { inbox, close };
  } catch (cause) {
    await close();
    throw new Error(`the inbox cannot be opened: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}

function toJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function say(io: CommandIo, text: string, code = 0): number {
  (code === 0 ? io.stdout : io.stderr).write(text);
  return code;
}
