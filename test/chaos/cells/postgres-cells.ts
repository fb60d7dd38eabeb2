// A primary with two standbys, of which one must confirm each commit, and two receivers that know all three servers.

import pg from "pg";
import { bundleReceiver } from "../../crash/bundle-receiver.ts";
import { createFreezingProxy, type FreezingProxy } from "../../support/freezing-proxy.ts";
import { KillableReceiver, receiverTables } from "../../support/killable-receiver.ts";
import { PostgresCluster } from "../../support/postgres-cluster.ts";
import type { ChaosCell, ChaosCells, ChaosWorld } from "../chaos-cell.ts";

class PostgresWorld implements ChaosWorld {
  readonly cluster: PostgresCluster;
  readonly ports: number[] = [];
  /** Between the first receiver and the servers. */
  readonly proxies: FreezingProxy[] = [];
  readonly #program: readonly string[];
  readonly #receivers: KillableReceiver[] = [];

  private constructor(cluster: PostgresCluster, program: readonly string[]) {
    this.cluster = cluster;
    this.#program = program;
  }

  static async start(program: readonly string[], diskBytes?: number): Promise<PostgresWorld> {
    const world = new PostgresWorld(await PostgresCluster.start(diskBytes), program);
    try {
      for (const statement of receiverTables) await world.#query(statement);
      for (const { port } of world.cluster.servers) world.proxies.push(await createFreezingProxy(port));
      await world.startReceiver(0);
      await world.startReceiver(1);
      return world;
    } catch (error) {
      await world[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Starts a receiver in the place of the former one. */
  async startReceiver(index: number): Promise<void> {
    const viaProxies = this.proxies.map(
      ({ port }) => `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    );
    const store = (index === 0 ? viaProxies : this.cluster.urls).join(" ");
    const receiver = await KillableReceiver.load({ store, handlerMs: 1, leaseMs: 2_000 }, this.#program);
    this.#receivers[index] = receiver;
    this.ports[index] = await receiver.begin();
  }

  async killReceiver(index: number): Promise<void> {
    await this.#receivers[index]?.kill();
  }

  async effects() {
    const rows = await this.#query("SELECT webhook_id, ended FROM effects");
    return rows.map((row) => ({ id: String(row["webhook_id"]), atMs: Number(row["ended"]) }));
  }

  async states() {
    const rows = await this.#query("SELECT task, status FROM task_states");
    return new Map(rows.map((row) => [String(row["task"]), String(row["status"])]));
  }

  async #query(statement: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const client = new pg.Client({ connectionString: this.cluster.primary.url() });
    await client.connect();
    try {
      return (await client.query<Readonly<Record<string, unknown>>>(statement)).rows;
    } finally {
      await client.end();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const receiver of this.#receivers) await receiver.kill();
    for (const proxy of this.proxies) await proxy[Symbol.asyncDispose]();
    await this.cluster[Symbol.asyncDispose]();
  }
}

interface Fault {
  readonly name: string;
  readonly brokenMs: number;
  readonly rejectsNothing?: boolean;
  /** Of the primary's disk, where it is to be small. */
  readonly diskBytes?: number;
  /** Breaks something and returns how it is repaired. */
  inject(world: PostgresWorld): Promise<() => Promise<void>>;
}

const faults: readonly Fault[] = [
  {
    name: "PostgreSQL: kill -9 of the primary and loss of its disk",
    brokenMs: 2_000,
    async inject({ cluster }) {
      await cluster.losePrimary();
      return () => cluster.promote();
    },
  },
  {
    name: "PostgreSQL: kill -9 of a standby and loss of its disk",
    brokenMs: 2_000,
    rejectsNothing: true,
    async inject({ cluster }) {
      await cluster.loseStandby();
      return async () => {};
    },
  },
  {
    name: "PostgreSQL: immediate stop of the primary, which starts again",
    brokenMs: 3_000,
    async inject({ cluster }) {
      await cluster.primary.stopImmediately();
      return () => cluster.primary.resume();
    },
  },
  {
    name: "PostgreSQL: immediate stop of both standbys, which start again",
    brokenMs: 4_000,
    async inject({ cluster }) {
      const standbys = cluster.servers.filter((server) => server !== cluster.primary);
      for (const standby of standbys) await standby.stopImmediately();
      return async () => {
        for (const standby of standbys) await standby.resume();
      };
    },
  },
  {
    name: "PostgreSQL: kill -9 of a receiver",
    brokenMs: 1_000,
    async inject(world) {
      await world.killReceiver(1);
      return () => world.startReceiver(1);
    },
  },
  {
    name: "PostgreSQL: a silent network between a receiver and the servers",
    brokenMs: 8_000,
    async inject({ proxies }) {
      for (const proxy of proxies) proxy.freezeAll();
      return async () => {
        for (const proxy of proxies) proxy.heal();
      };
    },
  },
  {
    name: "PostgreSQL: full disk of the primary",
    brokenMs: 4_000,
    diskBytes: 192 * 1024 * 1024,
    async inject({ cluster }) {
      const free = await cluster.fillDisk();
      return async () => {
        await free();
        await cluster.primary.resumeIfEnded();
      };
    },
  },
];

/** Mounting a small disk needs root. */
const canMount = () => process.platform === "linux" && process.getuid?.() === 0;

/** Each run has servers of its own: most of the faults destroy one. */
export async function postgresCells(): Promise<ChaosCells> {
  const bundled = await bundleReceiver();
  const cellOf = ({ name, brokenMs, rejectsNothing = false, diskBytes, inject }: Fault): ChaosCell => ({
    ...{ name, brokenMs, rejectsNothing, needs: "postgres" },
    async start() {
      const world = await PostgresWorld.start(bundled.program, diskBytes);
      let repair = async () => {};
      return Object.assign(world, {
        inject: async () => {
          repair = await inject(world);
        },
        repair: () => repair(),
      });
    },
  });
  return {
    cells: faults.filter(({ diskBytes }) => diskBytes === undefined || canMount()).map(cellOf),
    [Symbol.asyncDispose]: async () => bundled[Symbol.dispose](),
  };
}
