// A primary and two standbys from one data directory: the programs from npm contain no pg_basebackup, but a copy of a
// server that has never run is a backup of it. A commit waits until one standby has it on its disk.

import { execFileSync, spawnSync } from "node:child_process";
import { appendFileSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { initialiseEmpty, PostgresServer } from "./postgres.ts";
import { findPostgres, type PostgresBinaries } from "./postgres-binaries.ts";

const standbyNames = ["standby_1", "standby_2"];
const settings = [
  `synchronous_standby_names=ANY 1 (${standbyNames.join(", ")})`,
  "wal_keep_size=256MB",
  "wal_receiver_status_interval=1s",
  "wal_retrieve_retry_interval=100ms",
  "shared_buffers=16MB",
];
const waitMs = 30_000;

const conninfo = (port: number, name: string) =>
  `host=127.0.0.1 port=${port} user=postgres password=postgres application_name=${name}`;

export class PostgresCluster implements AsyncDisposable {
  readonly #servers: PostgresServer[];
  #primary: PostgresServer;

  readonly #hasDisk: boolean;

  private constructor(primary: PostgresServer, standbys: readonly PostgresServer[], hasDisk: boolean) {
    this.#hasDisk = hasDisk;
    this.#primary = primary;
    this.#servers = [primary, ...standbys];
  }

  /** @param diskBytes size of a disk of its own for the primary, which needs root */
  static async start(diskBytes?: number): Promise<PostgresCluster> {
    const binaries = findPostgres();
    if ("missing" in binaries) throw new Error(binaries.missing);
    const template = mkdtempSync(path.join(binaries.temporaryDirectory, "workspace-tasks-template-"));
    try {
      await initialiseEmpty(binaries, template);
      const copy = async (_: PostgresBinaries, directory: string) => {
        execFileSync("cp", ["-a", `${template}/.`, directory]);
      };
      const primary = await PostgresServer.start({
        settings,
        async initialise(found, directory) {
          if (diskBytes !== undefined) mountDisk(found, path.join(directory, "data"), diskBytes);
          await copy(found, directory);
        },
      });
      const standbys = await Promise.all(
        standbyNames.map((name) =>
          PostgresServer.start({
            settings,
            async initialise(found, directory) {
              await copy(found, directory);
              configureStandby(found, path.join(directory, "data"), conninfo(primary.port, name));
            },
          }),
        ),
      );
      const cluster = new PostgresCluster(primary, standbys, diskBytes !== undefined);
      await cluster.#untilReplicated();
      return cluster;
    } finally {
      rmSync(template, { recursive: true, force: true });
    }
  }

  get primary(): PostgresServer {
    return this.#primary;
  }

  get servers(): readonly PostgresServer[] {
    return this.#servers;
  }

  /** Fills the disk of the first primary; returns how it is freed again. */
  async fillDisk(): Promise<() => Promise<void>> {
    const filler = path.join(this.#servers[0]?.dataDirectory ?? "", "filler");
    spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=1M"], { stdio: "ignore" });
    return async () => rmSync(filler, { force: true });
  }

  /** Of every server that was started, lost ones too. */
  get urls(): readonly string[] {
    return this.#servers.map((server) => server.url());
  }

  /** `kill -9` of the primary, and its data are deleted. */
  async losePrimary(): Promise<void> {
    await this.#primary.lose();
  }

  /** Stops and forgets a standby, as the loss of its machine does. */
  async loseStandby(): Promise<void> {
    await this.#standbys[0]?.lose();
  }

  get #standbys(): readonly PostgresServer[] {
    return this.#servers.filter((server) => server !== this.#primary);
  }

  /** After the loss of the primary: the standby that has received most becomes the primary of the other one. */
  async promote(): Promise<void> {
    const received = await Promise.all(
      this.#standbys.map(async (server) => {
        const [row] = await query(
          server,
          "SELECT pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0') AS bytes",
        );
        return { server, bytes: BigInt(String(row?.["bytes"])) };
      }),
    );
    const [most, ...others] = received.toSorted((a, b) => (a.bytes > b.bytes ? -1 : 1));
    if (!most) throw new Error("expected a standby");
    await query(most.server, "SELECT pg_promote(true, 30)");
    this.#primary = most.server;
    for (const [index, { server }] of others.entries()) {
      const info = conninfo(most.server.port, standbyNames[index] ?? "");
      await query(server, `ALTER SYSTEM SET primary_conninfo = '${info}'`);
      await query(server, "SELECT pg_reload_conf()");
    }
  }

  async #untilReplicated(): Promise<void> {
    const endsAtMs = performance.now() + waitMs;
    for (;;) {
      const rows = await query(this.#primary, "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'");
      if (rows.length === standbyNames.length) return;
      if (performance.now() > endsAtMs) throw new Error("the standbys do not stream");
      await pause(50);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A primary that waits for its standbys ends at once, and not when they have received everything.
    const [first] = this.#servers;
    if (this.#hasDisk && first) {
      await first.stopImmediately();
      execFileSync("umount", [first.dataDirectory]);
    }
    await Promise.all(this.#servers.map((server) => server.lose()));
  }
}

function mountDisk({ user }: PostgresBinaries, data: string, bytes: number): void {
  mkdirSync(data);
  const owner = user ? `,uid=${user.uid},gid=${user.gid}` : "";
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${bytes},mode=700${owner}`, "tmpfs", data]);
}

function configureStandby({ user }: PostgresBinaries, data: string, info: string): void {
  appendFileSync(path.join(data, "postgresql.auto.conf"), `primary_conninfo = '${info}'\n`);
  const signal = path.join(data, "standby.signal");
  writeFileSync(signal, "", { mode: 0o600 });
  if (user) chownSync(signal, user.uid, user.gid);
}

async function query(server: PostgresServer, statement: string) {
  const client = new pg.Client({ connectionString: server.url() });
  await client.connect();
  try {
    return (await client.query<Readonly<Record<string, unknown>>>(statement)).rows;
  } finally {
    await client.end();
  }
}
