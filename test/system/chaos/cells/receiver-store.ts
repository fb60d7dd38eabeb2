import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { InboxStore } from "../../../../receiver-kit/inbox/inbox.ts";
import { loadSqliteDriver } from "../../../../receiver-kit/inbox/sqlite/sqlite-driver.ts";
import { postgresInbox, sqliteInbox } from "../../../support/inbox-stores.ts";
import { receiverTables } from "../../../support/killable-receiver.ts";
import { type PostgresDatabases, PostgresServer } from "../../../support/postgres.ts";
import { shared } from "../chaos-cell.ts";

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

/** Creates empty stores. */
export interface ReceiverStores {
  create(): Promise<ReceiverStore>;
}

/** @param getServer is asked for PostgreSQL */
export const openStores = (getServer: () => Promise<PostgresDatabases>) =>
  ({
    sqlite: { create: createSqliteStore },
    postgres: { create: async () => createPostgresStore(await getServer()) },
  }) satisfies Record<StoreName, ReceiverStores>;

/** With a PostgreSQL server of its own. */
export function openAllStores() {
  const server = shared(() => PostgresServer.start());
  return { ...openStores(server.get), [Symbol.asyncDispose]: server[Symbol.asyncDispose] };
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
