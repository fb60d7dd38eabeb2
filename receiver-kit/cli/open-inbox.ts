import { existsSync } from "node:fs";
import { CommandError } from "@workspace-tasks/kernel/cli/command-line.ts";
import { isError } from "@workspace-tasks/kernel/realm.ts";
import { type InboxStore, storeOf } from "../inbox/inbox.ts";

/** Opens an inbox by its file or URL, uses it and closes it. */
export async function withInbox<Result>(
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
    await inbox.open().catch((cause: unknown) => {
      const reason = isError(cause) ? cause.message : String(cause);
      throw new CommandError(`--store: the inbox cannot be opened: ${reason}`);
    });
    return await use(inbox).catch((error: unknown) => {
      throw asCommandError(error);
    });
  } finally {
    await close();
  }
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
  const { sqliteInbox } = await import("../inbox/sqlite/sqlite-inbox.ts");
  // A busy receiver leaves the write lock only for moments.
  const inbox = storeOf(sqliteInbox({ path, busyTimeoutMs: 20_000 }));
  return { inbox, close: () => inbox.close() };
}
