import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { InboxStore } from "../../../../receiver-kit/inbox/inbox.ts";
import { loadSqliteDriver } from "../../../../receiver-kit/inbox/sqlite/sqlite-driver.ts";
import { postgresInbox, sqliteInbox } from "../../../support/inbox-stores.ts";
import { receiverTables } from "../../../support/killable-receiver.ts";
import { type PostgresDatabases, PostgresServer } from "../../../support/postgres.ts";

export const receiverStores = ["sqlite", "postgres"] as const;
export type StoreName = (typeof receiverStores)[number];
export const storeNames: Readonly<Record<StoreName, string>> = { sqlite: "SQLite", postgres: "PostgreSQL" };

/** The database of receivers, and access to it for the checks. */
export interface ReceiverStore extends AsyncDisposable {
  /** A file or a URL. */
  readonly location: string;
  readonly inbox: InboxStore;
  query(statement: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** Creates empty stores. Disposing stops a server that was started for them. */
export interface ReceiverStores extends AsyncDisposable {
  create(): Promise<ReceiverStore>;
}

/** @param shared Default: a PostgreSQL server of its own */
export async function openStores(name: StoreName, shared?: PostgresDatabases): Promise<ReceiverStores> {
  const opened = { async [Symbol.asyncDispose]() {} };
  if (name === "sqlite") return { ...opened, create: createSqliteStore };
  if (shared) return { ...opened, create: () => createPostgresStore(shared) };
  const server = await PostgresServer.start();
  return {
    create: () => createPostgresStore(server),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function createSqliteStore(): Promise<ReceiverStore> {
  const directory = await mkdtemp(path.join(tmpdir(), "workspace-tasks-chaos-"));
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
    location,
    inbox,
    query,
    async [Symbol.asyncDispose]() {
      await inbox.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function createPostgresStore(server: PostgresDatabases): Promise<ReceiverStore> {
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
