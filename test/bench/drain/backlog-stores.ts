import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { type PostgresDatabase, PostgresServer } from "../../support/postgres.ts";
import { serverCpuUs } from "../server-cpu.ts";
import { type Drained, type DrainOptions, drain, type ServerUse } from "./drain.ts";

export type Store = "postgres" | "sqlite";
export const storeNames = { postgres: "PostgreSQL", sqlite: "SQLite" } as const;

/** A new database, or file, for each drain. */
export class BacklogStores implements AsyncDisposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "workspace-tasks-drain-"));
  /** Started when it is first needed. */
  #postgres: Promise<PostgresServer> | undefined;
  #files = 0;

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.#folder, { recursive: true, force: true });
    await (await this.#postgres)?.[Symbol.asyncDispose]();
  }

  async drain(
    store: Store,
    name: string,
    options: Omit<DrainOptions, "store" | "readServer">,
  ): Promise<Drained> {
    if (store === "sqlite") {
      return drain(name, { ...options, store: join(this.#folder, `${++this.#files}.db`) });
    }
    this.#postgres ??= PostgresServer.start();
    const server = await this.#postgres;
    await using database: PostgresDatabase = await server.database();
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    try {
      await client.query("ALTER SYSTEM SET autovacuum = off");
      await client.query("SELECT pg_reload_conf()");
      return await drain(name, {
        ...options,
        store: database.url,
        readServer: () => serverUse(client, server.pid),
      });
    } finally {
      await client.end();
    }
  }
}

async function serverUse(client: pg.Client, pid: number): Promise<ServerUse> {
  // Sessions report what they did at most once per second.
  await pause(1_100);
  const { rows } = await client.query(
    `SELECT (SELECT sum(xact_commit) FROM pg_stat_database)::float8 AS commits,
       (pg_current_wal_lsn() - '0/0')::float8 AS bytes`,
  );
  return { commits: rows[0].commits, bytesWritten: rows[0].bytes, cpuUs: serverCpuUs(pid) };
}
