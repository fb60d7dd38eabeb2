import { existsSync } from "node:fs";
import * as cli from "@workspace-tasks/kernel/cli/command-line.ts";
import {
  CommandError,
  type Flag,
  type FlagTable,
  type FlagValues,
  type ParsedArguments,
  text,
  toggle,
  UsageError,
} from "@workspace-tasks/kernel/cli/command-line.ts";
import { systemClock } from "@workspace-tasks/kernel/clock.ts";
import { lineWidth, painter, usesColor } from "@workspace-tasks/kernel/layout.ts";
import { isError } from "@workspace-tasks/kernel/realm.ts";
import { type InboxStore, storeOf } from "../inbox/inbox.ts";
import { defaults } from "../options.ts";
import type { ReportLayout } from "./inbox-report.ts";

export const storeVariable = "WORKSPACE_TASKS_INBOX";

const storeFlags = {
  store: text("<file or URL>", `a SQLite file or postgres://… (${storeVariable})`),
  schema: text("<name>", "schema of the PostgreSQL inbox", defaults.postgres.schema),
  json: toggle("print one JSON document instead of text"),
};

/** What a command prints: `value` with --json. */
export interface Output {
  readonly text: (layout: ReportLayout) => string;
  readonly value: unknown;
  readonly exitCode?: number;
}

/** A subcommand that opens the inbox and prints its output. */
export function inboxCommand<Table extends FlagTable>(command: {
  readonly name: string;
  readonly synopsis?: string;
  readonly about: string;
  readonly flags: Table;
  check(args: ParsedArguments<Table>): void;
  use(inbox: InboxStore, args: ParsedArguments<Table>, io: cli.CommandIo): Promise<Output>;
}): cli.Subcommand {
  const { name, synopsis = "[options]", about } = command;
  const run = cli.defineCommand({
    name,
    synopsis,
    about: `${about.charAt(0).toUpperCase()}${about.slice(1)}.`,
    flags: { ...storeFlags, ...command.flags },
    notes: `Exit code: 0 done, 1 a row was not found or its state does not allow it, or a change
was declined or stopped, 2 wrong arguments, no inbox, or an inbox that cannot be used.`,
    failureCode: 2,
    async run(args: ParsedArguments<typeof storeFlags & Table>, io: cli.CommandIo) {
      const own = args as unknown as ParsedArguments<Table>;
      const { store = io.env[storeVariable], schema, json } = args.flags as FlagValues<typeof storeFlags>;
      command.check(own);
      if (store === undefined) throw new UsageError(`expected --store <file or URL> or ${storeVariable}`);
      const output = await withInbox(store, schema, (inbox) => command.use(inbox, own, io));
      const layout = {
        width: lineWidth(io.stdout),
        paint: painter(usesColor(io)),
        nowMs: systemClock.now(),
      };
      if (json) cli.writeData(io, cli.toJson(output.value));
      else cli.write(io, output.text(layout));
      return output.exitCode ?? 0;
    },
  });
  return { about, run };
}

/** Opens an inbox by its file or URL, uses it and closes it. */
async function withInbox<Result>(
  store: string,
  schema: string,
  use: (inbox: InboxStore) => Promise<Result>,
): Promise<Result> {
  const isPostgres = /^postgres(ql)?:\/\//.test(store);
  const scheme = /^([\w+.-]+):\/\//.exec(store)?.[1];
  if (scheme && !isPostgres)
    throw new CommandError(`--store: expected a SQLite file or a postgres:// URL, got a ${scheme}:// URL`);
  const { inbox, close } = isPostgres ? await postgres(store, schema) : await sqlite(store);
  try {
    await inbox.open().catch(cannotOpen);
    return await use(inbox).catch((error: unknown) => {
      throw asCommandError(error);
    });
  } finally {
    await close();
  }
}

function cannotOpen(cause: unknown): never {
  const reason = isError(cause) ? cause.message : String(cause);
  throw new CommandError(`--store: the inbox cannot be opened: ${reason}`);
}

/** Errors of the inbox and its database have a code; anything else is a bug and keeps its stack trace. */
function asCommandError(error: unknown): unknown {
  if (error instanceof CommandError || !isError(error) || !("code" in error)) return error;
  return new CommandError(`--store: the inbox failed: ${error.message}`);
}

async function postgres(connectionString: string, schema: string) {
  const { default: pg } = await import("pg").catch(() => {
    throw new CommandError("--store: expected the package pg to be installed; try npm install pg");
  });
  const { postgresInbox } = await import("../inbox/postgres/postgres-inbox.ts");
  const pool = new pg.Pool({ connectionString, max: 4, connectionTimeoutMillis: 10_000 });
  const inbox = storeOf(postgresInbox(pool, { schema, migrate: false }));
  const close = async () => {
    await inbox.close();
    await pool.end();
  };
  return { inbox, close };
}

async function sqlite(path: string) {
  if (!existsSync(path)) throw new CommandError(`--store: no file ${path}; pass the file of sqliteInbox`);
  if (!(await findInbox(path).catch(cannotOpen)))
    throw new CommandError(`--store: no inbox in ${path}; pass the file of sqliteInbox`);
  const { sqliteInbox } = await import("../inbox/sqlite/sqlite-inbox.ts");
  // A busy receiver leaves the write lock only for moments.
  const inbox = storeOf(sqliteInbox({ path, busyTimeoutMs: 20_000 }));
  return { inbox, close: () => inbox.close() };
}

/**
 * Opening makes an inbox of any SQLite file, for its owner alone. A receiver may do that to a file of the application; a
 * command that was given the name of another file may not.
 */
async function findInbox(path: string): Promise<boolean> {
  const { loadSqliteDriver } = await import("../inbox/sqlite/sqlite-driver.ts");
  const { hasInbox, resolveSqlitePath } = await import("../inbox/sqlite/sqlite-file.ts");
  return hasInbox(resolveSqlitePath(path), await loadSqliteDriver());
}

export const position = { min: 1, max: Number.MAX_SAFE_INTEGER } as const;

export function sourceFlag(): Flag<string>;
export function sourceFlag(about: string): Flag<string | undefined>;
/** @param about of a command that shows those of all endpoints */
export function sourceFlag(about?: string): Flag<string | undefined> {
  return about === undefined
    ? text("<name>", "endpoint of the rows", defaults.source)
    : text("<name>", about);
}
