// A primary and two standbys from one data directory: the programs from npm contain no pg_basebackup, but a copy of a
// server that has never run is a backup of it. A commit waits until one standby has it on its disk. Each standby reaches
// the primary through a proxy of its own, whose connections can fall silent.

import { execFileSync, spawnSync } from "node:child_process";
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { regionOf } from "../../../support/documents.ts";
import { createFreezingProxy, type FreezingProxy } from "../../../support/freezing-proxy.ts";
import {
  copyTemplate,
  findPostgres,
  initialiseEmpty,
  type PostgresBinaries,
  PostgresServer,
} from "../../../support/postgres.ts";

const names = ["standby_1", "standby_2", "standby_3"] as const;
const settings = [
  "wal_receiver_status_interval=1s",
  "wal_retrieve_retry_interval=100ms",
  "shared_buffers=16MB",
];
const waitMs = 30_000;

export interface PostgresClusterOptions {
  /** Size of a disk of its own for the first primary, which needs root. */
  readonly diskBytes?: number | undefined;
  /** Data that `initialiseEmpty` has created. Default: new ones. */
  readonly template?: string | undefined;
}

export class PostgresCluster implements AsyncDisposable {
  /** Every server that was started, lost ones too. */
  readonly servers: readonly PostgresServer[];
  readonly #hasDisk: boolean;
  readonly #links: readonly FreezingProxy[];
  readonly #primaryPort: { value: number };
  #primary: PostgresServer;

  private constructor(
    servers: readonly [PostgresServer, ...PostgresServer[]],
    links: readonly FreezingProxy[],
    primaryPort: { value: number },
    hasDisk: boolean,
  ) {
    this.servers = servers;
    this.#links = links;
    this.#primaryPort = primaryPort;
    this.#hasDisk = hasDisk;
    this.#primary = servers[0];
  }

  static async start({ diskBytes, template }: PostgresClusterOptions = {}): Promise<PostgresCluster> {
    const binaries = findPostgres();
    if ("missing" in binaries) throw new Error(binaries.missing);
    const created =
      template ?? mkdtempSync(path.join(binaries.temporaryDirectory, "workspace-tasks-template-"));
    const primaryPort = { value: 0 };
    const links = await Promise.all(names.map(() => createFreezingProxy(() => primaryPort.value)));
    // A small disk does not hold the log that standbys might need.
    const kept = [...settings, ...(diskBytes === undefined ? ["wal_keep_size=256MB"] : [])];
    try {
      if (template === undefined) await initialiseEmpty(binaries, created);
      const startServer = (index: number) =>
        PostgresServer.start({
          settings: kept,
          async initialise(found, directory) {
            const data = path.join(directory, "data");
            if (diskBytes !== undefined && index === 0) mountDisk(found, data, diskBytes);
            await copyTemplate(created)(found, directory);
            configure(found, data, { index, link: links[index]?.port ?? 0, isStandby: index > 0 });
          },
        });
      const primary = await startServer(0);
      primaryPort.value = primary.port;
      const standbys = await Promise.all([startServer(1), startServer(2)]);
      const cluster = new PostgresCluster(
        [primary, ...standbys],
        links,
        primaryPort,
        diskBytes !== undefined,
      );
      await cluster.untilReplicated();
      return cluster;
    } finally {
      if (template === undefined) rmSync(created, { recursive: true, force: true });
    }
  }

  get primary(): PostgresServer {
    return this.#primary;
  }

  get urls(): readonly string[] {
    return this.servers.map((server) => server.url());
  }

  get standbys(): readonly PostgresServer[] {
    return this.servers.filter((server) => server !== this.#primary);
  }

  /** Fills the disk of the first primary; returns how it is freed again. */
  async fillDisk(): Promise<() => Promise<void>> {
    const filler = path.join(this.servers[0]?.dataDirectory ?? "", "filler");
    spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=1M"], { stdio: "ignore" });
    return async () => rmSync(filler, { force: true });
  }

  /** The network between the primary and these standbys falls silent; returns how it is repaired. */
  cut(standbys: readonly PostgresServer[]): () => void {
    const links = standbys.flatMap((standby) => this.#links[this.servers.indexOf(standby)] ?? []);
    for (const link of links) link.freezeAll();
    return () => {
      for (const link of links) link.heal();
    };
  }

  /** After the loss of the primary: the standby that has received most becomes the primary of the other ones. */
  async promote(): Promise<void> {
    const received = await Promise.all(
      this.standbys.map(async (server) => {
        const received = server.query("SELECT pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0') AS bytes");
        const [row] = await received.catch(() => []);
        return { server, bytes: BigInt(String(row?.["bytes"] ?? -1)) };
      }),
    );
    const [most] = received.toSorted((a, b) => (a.bytes > b.bytes ? -1 : 1));
    if (!most) throw new Error("expected a standby");
    await most.server.query("SELECT pg_promote(true, 30)");
    this.#primary = most.server;
    this.#primaryPort.value = most.server.port;
    // No standby confirms commits of the old primary any more, should that continue.
    for (const link of this.#links) link.closeExisting();
  }

  /** Starts a server that has ended, and may have lost its disk, as a standby with a new copy of the primary. */
  async rejoin(server: PostgresServer): Promise<void> {
    const index = this.servers.indexOf(server);
    const client = new pg.Client({ connectionString: this.#primary.url() });
    await client.connect();
    try {
      await server.resumeWith(async (found, data) => {
        await client.query("SELECT pg_backup_start('rejoin', true)");
        // A file of the running server may end while it is copied.
        spawnSync("cp", ["-a", this.#primary.dataDirectory, data], { stdio: "ignore" });
        const { rows } = await client.query<{ labelfile: string }>(
          "SELECT labelfile FROM pg_backup_stop(false)",
        );
        execFileSync("sh", ["-c", 'cd "$1" && rm -rf postmaster.* pg_wal/0* pg_replslot/*', "sh", data]);
        writeOwned(found, path.join(data, "backup_label"), rows[0]?.labelfile ?? "");
        configure(found, data, { index, link: this.#links[index]?.port ?? 0, isStandby: true });
      });
    } finally {
      await client.end();
    }
    await this.untilReplicated();
  }

  /** Resolves when both standbys follow the primary. */
  async untilReplicated(): Promise<void> {
    const endsAtMs = performance.now() + waitMs;
    for (;;) {
      const rows = await this.#primary.query("SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'");
      if (rows.length === names.length - 1) return;
      if (performance.now() > endsAtMs) throw new Error("the standbys do not stream");
      await pause(50);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const link of this.#links) await link[Symbol.asyncDispose]();
    // A primary that waits for its standbys ends at once, and not when they have received everything.
    const [first] = this.servers;
    if (this.#hasDisk && first) {
      await first.stopImmediately();
      execFileSync("umount", [first.dataDirectory]);
    }
    await Promise.all(this.servers.map((server) => server.lose()));
  }
}

function mountDisk({ user }: PostgresBinaries, data: string, bytes: number): void {
  mkdirSync(data);
  const owner = user ? `,uid=${user.uid},gid=${user.gid}` : "";
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${bytes},mode=700${owner}`, "tmpfs", data]);
}

interface Member {
  readonly index: number;
  /** Port through which it reaches the primary. */
  readonly link: number;
  readonly isStandby: boolean;
}

function configure(found: PostgresBinaries, data: string, { index, link, isStandby }: Member): void {
  const login = "user=postgres password=postgres";
  const conninfo = `host=127.0.0.1 port=${link} ${login} application_name=${names[index]}`;
  // docs/production.md shows these settings.
  const shown = regionOf("examples/deployment/synchronous.conf#synchronous");
  writeOwned(found, path.join(data, "postgresql.auto.conf"), `primary_conninfo = '${conninfo}'\n${shown}`);
  if (isStandby) writeOwned(found, path.join(data, "standby.signal"), "");
}

function writeOwned({ user }: PostgresBinaries, file: string, text: string): void {
  writeFileSync(file, text, { mode: 0o600 });
  if (user) chownSync(file, user.uid, user.gid);
}
