import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import Database from "libsql";
import pg from "pg";
import { PostgresServer } from "../support/postgres.ts";
import { spread, type Table } from "./benchmark.ts";
import type { Contender, DrainOptions, DrainProgress, DrainRequest } from "./drainer.ts";
import { forkProcess } from "./processes.ts";
import { serverCpuUs } from "./server-cpu.ts";
import { type InTurnsOptions, inTurns, medianIn, type Rounds, spreadIn } from "./statistics.ts";

export type Store = "postgres" | "sqlite";
export const storeNames = { postgres: "PostgreSQL", sqlite: "SQLite" } as const;

/** Per event. Only PostgreSQL has a server whose use is read; the bytes of SQLite are those of write calls. */
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
  async drain(store: Store, options: DrainOptions): Promise<Drained> {
    if (store === "sqlite") return this.#drainFile(options);
    await using database = await this.#postgres.database();
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    try {
      await client.query("ALTER SYSTEM SET autovacuum = off");
      await client.query("SELECT pg_reload_conf()");
      return await drain(
        database.url,
        options,
        (statements) => client.query(statements),
        () => serverUse(client, this.#postgres.pid),
      );
    } finally {
      await client.end();
    }
  }

  #drainFile(options: DrainOptions): Promise<Drained> {
    const file = join(this.#folder, `${++this.#files}.db`);
    return drain(file, options, async (statements) => {
      const database = new Database(file);
      database.exec(statements);
      database.close();
    });
  }

  /** Contenders in turns, by the names of their rows. */
  compare(
    store: Store,
    contenders: Readonly<Record<string, Contender>>,
    options: Omit<DrainOptions, keyof Contender>,
    rounds: InTurnsOptions,
  ): Promise<Drains> {
    return inTurns(Object.keys(contenders), rounds, (name) =>
      this.drain(store, { ...(contenders[name] as Contender), ...options }),
    );
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

/**
 * @param execute runs statements in the store
 * @param readServer is called between filling and draining, and again afterwards
 */
async function drain(
  store: string,
  options: DrainOptions,
  execute: (statements: string) => Promise<unknown>,
  readServer?: () => Promise<ServerUse>,
): Promise<Drained> {
  const { events, alters = "" } = options;
  await using child = await forkProcess("drain-process.ts", [store, JSON.stringify(options)]);
  const ask = async (request: DrainRequest) => (await child.request(request)) as DrainProgress;
  await ask("fill");
  await execute(`CREATE TABLE effects (id text, at text); ${alters}`);
  const serverBefore = await readServer?.();
  const before = await ask("progress");
  const startedAt = performance.now();
  await ask("start");
  do await pause(5);
  while ((await ask("progress")).handled < events);
  const wallUs = ((performance.now() - startedAt) * 1_000) / events;
  // What is handled has still to be recorded; that belongs to the costs.
  const after = await ask("stop");
  const serverAfter = await readServer?.();
  const ofProcess = (field: keyof DrainProgress) => (after[field] - before[field]) / events;
  const ofServer = (field: keyof ServerUse) =>
    serverBefore && serverAfter ? (serverAfter[field] - serverBefore[field]) / events : Number.NaN;
  return {
    wallUs,
    perSecond: 1e6 / wallUs,
    cpuUs: ofProcess("cpuUs"),
    serverCpuUs: ofServer("cpuUs"),
    totalCpuUs: ofProcess("cpuUs") + ofServer("cpuUs"),
    commits: ofServer("commits"),
    bytesWritten: readServer ? ofServer("bytesWritten") : ofProcess("bytesWritten"),
  };
}

/** A table of drains, the fastest first. */
export function comparison(store: Store, what: string, drains: Drains): Table {
  const server = { serverCpuUs: "server µs", commits: "commits" };
  const columns = {
    perSecond: "events/s",
    cpuUs: "µs",
    ...(store === "postgres" && server),
    bytesWritten: "bytes written",
  };
  const fields = Object.keys(columns) as (keyof Drained)[];
  const names = [...drains.keys()]
    .map(String)
    .sort((a, b) => medianIn(drains, a, "wallUs") - medianIn(drains, b, "wallUs"));
  return {
    columns: [`${storeNames[store]}, ${what}`, ...Object.values(columns)],
    rows: names.map((name) => [name, ...fields.map((field) => spread(spreadIn(drains, name, field)))]),
  };
}
