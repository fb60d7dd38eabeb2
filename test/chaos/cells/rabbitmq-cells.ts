// Three RabbitMQ nodes, two shards on a PostgreSQL server each, two processes with an intake and two with consumers.

import { fileURLToPath } from "node:url";
import type { Pool } from "pg";
import { bundleReceiver } from "../../crash/bundle-receiver.ts";
import type { Random } from "../../simulation/random.ts";
import { createFreezingProxy, type FreezingProxy } from "../../support/freezing-proxy.ts";
import { receiverTables } from "../../support/killable-receiver.ts";
import { type PostgresDatabase, PostgresServer } from "../../support/postgres.ts";
import { RabbitmqCluster } from "../../support/rabbitmq.ts";
import { RunningProgram } from "../../support/running-program.ts";
import type { ChaosCell, ChaosCells, ChaosWorld } from "../chaos-cell.ts";
import type { RabbitmqReceiverOptions } from "../rabbitmq-receiver-program.ts";

const program = fileURLToPath(new URL("../rabbitmq-receiver-program.ts", import.meta.url));
const nodes = [0, 1, 2] as const;

interface Servers {
  readonly cluster: RabbitmqCluster;
  readonly postgres: readonly [PostgresServer, PostgresServer];
  readonly program: readonly string[];
}

/** What cells do to the world. */
class RabbitmqWorld implements ChaosWorld {
  readonly cluster: RabbitmqCluster;
  readonly postgres: readonly [PostgresServer, PostgresServer];
  readonly ports: number[] = [];
  readonly proxies: FreezingProxy[] = [];
  readonly name: string;
  readonly #program: readonly string[];
  readonly #databases: PostgresDatabase[] = [];
  readonly #pools: Pool[] = [];
  readonly #processes: { intake: RunningProgram[]; consumer: RunningProgram[] } = {
    intake: [],
    consumer: [],
  };

  private constructor({ cluster, postgres, program: args }: Servers, name: string) {
    this.cluster = cluster;
    this.postgres = postgres;
    this.name = name;
    this.#program = args;
  }

  static async start(servers: Servers, name: string): Promise<RabbitmqWorld> {
    const world = new RabbitmqWorld(servers, name);
    try {
      for (const server of servers.postgres) {
        const database = await server.database();
        world.#databases.push(database);
        const pool = database.pool({ max: 1 });
        world.#pools.push(pool);
        for (const statement of receiverTables) await pool.query(statement);
      }
      // Those of the first processes of each kind.
      for (const index of nodes) world.proxies.push(await createFreezingProxy(servers.cluster.portOf(index)));
      await Promise.all(
        [0, 1].flatMap((index) => [
          world.startProcess("intake", index),
          world.startProcess("consumer", index),
        ]),
      );
      return world;
    } catch (error) {
      await world[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Starts a process in the place of the former one. */
  async startProcess(role: "intake" | "consumer", index: number): Promise<void> {
    const urls =
      index === 0
        ? this.proxies.map(({ port }) => `amqp://guest:guest@127.0.0.1:${port}`)
        : this.cluster.urls;
    const shards = this.#databases.map(({ url }) => url);
    const options: RabbitmqReceiverOptions = { role, urls, name: this.name, shards };
    const started = new RunningProgram([...this.#program, JSON.stringify(options)]);
    this.#processes[role][index] = started;
    const [, port] = await started.said(role === "intake" ? /^port (\d+)$/m : /^(consuming)$/m);
    if (role === "intake") this.ports[index] = Number(port);
  }

  async killProcess(role: "intake" | "consumer", index: number): Promise<void> {
    const killed = this.#processes[role][index];
    killed?.signal("SIGKILL");
    await killed?.ended();
  }

  /** The node that leads the first queue of the first shard. */
  async leader(): Promise<number> {
    const queue = `rabbit_misc:r(<<"/">>, queue, <<"${this.name}.v1.s0of2.p0">>)`;
    const running = await Promise.any(
      nodes.map((index) =>
        this.cluster.evaluate(
          index,
          `element(2, amqqueue:get_pid(element(2, rabbit_amqqueue:lookup(${queue}))))`,
        ),
      ),
    );
    const [, index] = /rabbit(\d)@/.exec(running) ?? [];
    if (index === undefined) throw new Error(`no leader was found: ${running}`);
    return Number(index);
  }

  async effects() {
    const rows = await this.#rows("SELECT webhook_id, ended FROM effects");
    return rows.map((row) => ({ id: String(row["webhook_id"]), atMs: Number(row["ended"]) }));
  }

  async states() {
    const rows = await this.#rows("SELECT task, status FROM task_states");
    return new Map(rows.map((row) => [String(row["task"]), String(row["status"])]));
  }

  async #rows(statement: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const results = await Promise.all(this.#pools.map((pool) => pool.query(statement)));
    return results.flatMap(({ rows }) => rows);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const running of [...this.#processes.intake, ...this.#processes.consumer]) {
      running.signal("SIGKILL");
      await running.ended();
    }
    for (const proxy of this.proxies) await proxy[Symbol.asyncDispose]();
    for (const database of this.#databases) await database[Symbol.asyncDispose]();
  }
}

interface Fault {
  readonly name: string;
  readonly brokenMs: number;
  readonly rejectsNothing?: boolean;
  /** Breaks something and returns how it is repaired. */
  inject(world: RabbitmqWorld, random: Random): Promise<() => Promise<void>>;
}

async function killNodes(world: RabbitmqWorld, killed: readonly number[]): Promise<() => Promise<void>> {
  await Promise.all(killed.map((index) => world.cluster.killNode(index)));
  return async () => {
    await Promise.all(killed.map((index) => world.cluster.startNode(index)));
  };
}

const others = (leader: number) => nodes.filter((index) => index !== leader);

const faults: readonly Fault[] = [
  {
    name: "kill -9 of the queue's leader",
    brokenMs: 4_000,
    inject: async (world) => killNodes(world, [await world.leader()]),
  },
  {
    name: "kill -9 of a follower",
    brokenMs: 4_000,
    inject: async (world, random) => killNodes(world, [random.sample(others(await world.leader())) ?? 0]),
  },
  {
    name: "kill -9 of two of three nodes",
    brokenMs: 4_000,
    inject: async (world, random) => {
      const leader = await world.leader();
      return killNodes(world, [leader, random.sample(others(leader)) ?? 0]);
    },
  },
  {
    name: "loss of a node and its disk",
    brokenMs: 4_000,
    async inject({ cluster }, random) {
      const destroyed = random.pick(nodes);
      const survivor = (destroyed + 1) % 3;
      await cluster.destroyNode(destroyed);
      return () => cluster.replaceNode(destroyed, survivor);
    },
  },
  {
    name: "kill -9 of a process with an intake",
    brokenMs: 3_000,
    async inject(world) {
      await world.killProcess("intake", 1);
      return () => world.startProcess("intake", 1);
    },
  },
  {
    name: "kill -9 of a process with consumers",
    brokenMs: 3_000,
    rejectsNothing: true,
    async inject(world, random) {
      const index = random.pick([0, 1]);
      await world.killProcess("consumer", index);
      return () => world.startProcess("consumer", index);
    },
  },
  {
    name: "a silent network for an intake and a consumer",
    brokenMs: 6_000,
    async inject({ proxies }) {
      for (const proxy of proxies) proxy.freezeAll();
      return async () => {
        for (const proxy of proxies) proxy.heal();
      };
    },
  },
  {
    name: "memory alarm of the broker",
    brokenMs: 4_000,
    async inject({ cluster }) {
      const setTo = (share: string) =>
        cluster.evaluate(0, `vm_memory_monitor:set_vm_memory_high_watermark(${share})`);
      await setTo("0.0001");
      return async () => {
        await setTo("0.4");
      };
    },
  },
  {
    name: "full disk of the broker",
    brokenMs: 4_000,
    async inject({ cluster }) {
      const setTo = (bytes: string) =>
        cluster.evaluate(0, `rabbit_disk_monitor:set_disk_free_limit(${bytes})`);
      await setTo("1000000000000000");
      return async () => {
        await setTo("50000000");
      };
    },
  },
  {
    name: "PostgreSQL of a shard down",
    brokenMs: 10_000,
    rejectsNothing: true,
    async inject({ postgres }) {
      await postgres[1].stopImmediately();
      return () => postgres[1].resume();
    },
  },
];

export async function rabbitmqCells(): Promise<ChaosCells> {
  const bundled = await bundleReceiver(program);
  const cluster = await RabbitmqCluster.start(3);
  const postgres = [await PostgresServer.start(), await PostgresServer.start()] as const;
  let worlds = 0;
  const cellOf = ({ name, brokenMs, rejectsNothing = false, inject }: Fault): ChaosCell => ({
    ...{ name, brokenMs, rejectsNothing, needs: "rabbitmq" },
    async start() {
      worlds += 1;
      const world = await RabbitmqWorld.start(
        { cluster, postgres, program: bundled.program },
        `chaos-${worlds}`,
      );
      let repair = async () => {};
      return Object.assign(world, {
        inject: async (random: Random) => {
          repair = await inject(world, random);
        },
        repair: () => repair(),
      });
    },
  });
  return {
    cells: faults.map(cellOf),
    async [Symbol.asyncDispose]() {
      await cluster[Symbol.asyncDispose]();
      for (const server of postgres) await server[Symbol.asyncDispose]();
      bundled[Symbol.dispose]();
    },
  };
}
