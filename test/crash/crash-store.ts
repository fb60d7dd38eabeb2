import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Inbox } from "workspace-tasks/receiver-kit";
import { postgresInbox } from "workspace-tasks/receiver-kit/postgres";
import { sqliteInbox } from "workspace-tasks/receiver-kit/sqlite";
import { loadSqliteDriver } from "../../receiver-kit/inbox/sqlite/sqlite-driver.ts";
import { receiverTables } from "../support/killable-receiver.ts";
import { type PostgresDatabases, PostgresServer } from "../support/postgres.ts";

export const crashStores = ["sqlite", "postgres"] as const;
export type CrashStoreName = (typeof crashStores)[number];

/** The database of the killed receivers, and access to it for the checks. */
export interface CrashStore extends AsyncDisposable {
  /** A file or a URL. */
  readonly location: string;
  readonly inbox: Inbox;
  query(statement: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** Creates empty stores. Disposing stops a server that was started for them. */
export interface CrashStores extends AsyncDisposable {
  create(): Promise<CrashStore>;
}

/** @param shared Default: a PostgreSQL server of its own */
export async function openStores(name: CrashStoreName, shared?: PostgresDatabases): Promise<CrashStores> {
  const opened = { async [Symbol.asyncDispose]() {} };
  if (name === "sqlite") return { ...opened, create: createSqliteStore };
  if (shared) return { ...opened, create: () => createPostgresStore(shared) };
  const server = await PostgresServer.start();
  return {
    create: () => createPostgresStore(server),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function createSqliteStore(): Promise<CrashStore> {
  const directory = await mkdtemp(path.join(tmpdir(), "workspace-tasks-crash-"));
  const location = path.join(directory, "inbox.db");
  const open = await loadSqliteDriver();
  const query = async (statement: string) => {
    const connection = open(location);
    connection.query("PRAGMA busy_timeout = 5000");
    const rows = connection.query(statement);
    connection.close();
    return rows;
  };
  // The inbox creates the file, because it chooses the size of its pages.
  const inbox = sqliteInbox(location);
  await inbox.open();
  for (const statement of receiverTables) await query(statement);
  return {
    ...{ location, inbox, query },
    async [Symbol.asyncDispose]() {
      await inbox.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function createPostgresStore(server: PostgresDatabases): Promise<CrashStore> {
  const database = await server.database();
  const pool = database.pool();
  for (const statement of receiverTables) await pool.query(statement);
  const inbox = postgresInbox(pool);
  await inbox.open();
  return {
    location: database.url,
    inbox,
    query: async (statement) => (await pool.query(statement)).rows,
    async [Symbol.asyncDispose]() {
      await inbox.close();
      await database[Symbol.asyncDispose]();
    },
  };
}
