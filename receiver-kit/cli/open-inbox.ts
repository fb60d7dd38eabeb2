import { existsSync } from "node:fs";
import { CommandError } from "../../cli/command-error.ts";
import type { Inbox } from "../inbox/inbox.ts";

/** Opens an inbox by its file or URL, uses it and closes it. */
export async function withInbox<Result>(
  store: string,
  schema: string,
  use: (inbox: Inbox) => Promise<Result>,
): Promise<Result> {
  const isPostgres = /^postgres(ql)?:\/\//.test(store);
  const { inbox, close } = isPostgres ? await postgres(store, schema) : await sqlite(store);
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
