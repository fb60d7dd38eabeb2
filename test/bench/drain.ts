import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { PostgresServer } from "../support/postgres.ts";
import { spread, type Table } from "./benchmark.ts";
import type { DrainProgress, DrainRequest } from "./drainer.ts";
import { forkProcess } from "./processes.ts";
import { serverCpuUs } from "./server-cpu.ts";
import { medianIn, type Rounds, spreadIn } from "./statistics.ts";

export type Store = "postgres" | "sqlite";
export const storeNames = { postgres: "PostgreSQL", sqlite: "SQLite" } as const;

export interface DrainOptions {
  /** The handler writes a row. */
  readonly writes: boolean;
  readonly events: number;
}

/** Per event. Only PostgreSQL has a server whose use is read. */
export interface Drained {
  readonly wallUs: number;
  readonly cpuUs: number;
  readonly serverCpuUs: number;
  /** Of both. */
  readonly totalCpuUs: number;
  readonly bytesWritten: number;
  readonly commits: number;
  readonly perSecond: number;
}

export type Drains = Rounds<keyof Drained>;

/** A new database, or file, for each drain. */
export class BacklogStores implements AsyncDisposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "workspace-tasks-drain-"));
  readonly #postgres: PostgresServer;
  #files = 0;

  constructor(postgres: PostgresServer) {
    this.#postgres = postgres;
  }

  static async create(): Promise<BacklogStores> {
    return new BacklogStores(await PostgresServer.start());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.#folder, { recursive: true, force: true });
    await this.#postgres[Symbol.asyncDispose]();
  }

  /** Fills a backlog and measures how long its handlers take, until the last one has run. */
  async drain(store: Store, name: string, options: DrainOptions): Promise<Drained> {
    if (store === "sqlite") return drain(name, join(this.#folder, `${++this.#files}.db`), options);
    await using database = await this.#postgres.database();
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    try {
      await client.query("ALTER SYSTEM SET autovacuum = off");
      await client.query("SELECT pg_reload_conf()");
      return await drain(name, database.url, options, () => serverUse(client, this.#postgres.pid));
    } finally {
      await client.end();
    }
  }
}

/** Of the database server. */
interface ServerUse {
  readonly commits: number;
  readonly bytesWritten: number;
  /** CPU time of all its processes. */
  readonly cpuUs: number;
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

/** @param readServer is called between filling and draining, and again afterwards */
async function drain(
  name: string,
  store: string,
  { writes, events }: DrainOptions,
  readServer?: () => Promise<ServerUse>,
): Promise<Drained> {
  await using child = await forkProcess("drain-process.ts", [name, store, writes ? "writes" : "reads"]);
  const ask = async (request: DrainRequest) => (await child.request(request)) as DrainProgress;
  await ask({ fill: events });
  const before = await readServer?.();
  const startedAt = performance.now();
  await ask({ start: true });
  do await pause(5);
  while ((await ask({ progress: true })).handled < events);
  const wallUs = ((performance.now() - startedAt) * 1_000) / events;
  // What is handled has still to be recorded; that belongs to the costs.
  const cpuUs = (await ask({ stop: true })).cpuUs / events;
  const after = await readServer?.();
  const ofServer = (field: keyof ServerUse) =>
    before && after ? (after[field] - before[field]) / events : Number.NaN;
  return {
    wallUs,
    perSecond: 1e6 / wallUs,
    cpuUs,
    serverCpuUs: ofServer("cpuUs"),
    totalCpuUs: cpuUs + ofServer("cpuUs"),
    commits: ofServer("commits"),
    bytesWritten: ofServer("bytesWritten"),
  };
}

/** A table of drains on PostgreSQL, the fastest first. */
export function comparison(what: string, drains: Drains): Table {
  const columns = {
    perSecond: "events/s",
    cpuUs: "µs",
    serverCpuUs: "server µs",
    commits: "commits",
    bytesWritten: "bytes written",
  } as const;
  const fields = Object.keys(columns) as (keyof typeof columns)[];
  const names = [...drains.keys()]
    .map(String)
    .sort((a, b) => medianIn(drains, a, "wallUs") - medianIn(drains, b, "wallUs"));
  return {
    columns: [`PostgreSQL, ${what}`, ...Object.values(columns)],
    rows: names.map((name) => [
      name.replace("kit-postgres", "this kit"),
      ...fields.map((field) => spread(spreadIn(drains, name, field))),
    ]),
  };
}
