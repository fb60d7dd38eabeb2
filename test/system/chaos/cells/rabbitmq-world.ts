// Three RabbitMQ nodes, two shards on a PostgreSQL server each, two processes with an intake and two with consumers.

import { setTimeout as pause } from "node:timers/promises";
import type { Pool } from "pg";
import { createFreezingProxy, type FreezingProxy } from "../../../support/freezing-proxy.ts";
import { receiverTables } from "../../../support/killable-receiver.ts";
import { type PostgresDatabase, PostgresServer } from "../../../support/postgres.ts";
import { RabbitmqCluster } from "../../../support/rabbitmq.ts";
import { RunningProgram } from "../../../support/running-program.ts";
import type { ChaosWorld } from "../chaos-cell.ts";
import type { RabbitmqReceiverOptions } from "../rabbitmq-receiver-program.ts";

export const nodes = [0, 1, 2] as const;
type Role = RabbitmqReceiverOptions["role"];

/** The servers of several worlds. Disposing ends them. */
export class RabbitmqServers implements AsyncDisposable {
  readonly cluster: RabbitmqCluster;
  readonly postgres: readonly [PostgresServer, PostgresServer];

  private constructor(cluster: RabbitmqCluster, postgres: readonly [PostgresServer, PostgresServer]) {
    this.cluster = cluster;
    this.postgres = postgres;
  }

  static async start(): Promise<RabbitmqServers> {
    const cluster = await RabbitmqCluster.start(3);
    return new RabbitmqServers(cluster, [await PostgresServer.start(), await PostgresServer.start()]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cluster[Symbol.asyncDispose]();
    for (const server of this.postgres) await server[Symbol.asyncDispose]();
  }
}

export interface RabbitmqWorldOptions extends Pick<RabbitmqReceiverOptions, "name" | "hasUsualTimes"> {
  /** Arguments of `node` for a process. */
  readonly program: readonly string[];
}

/** What cells do to the world. */
export class RabbitmqWorld implements ChaosWorld {
  readonly servers: RabbitmqServers;
  readonly ports: number[] = [];
  /** Between the first processes of each kind and the nodes. */
  readonly proxies: FreezingProxy[] = [];
  readonly #options: RabbitmqWorldOptions;
  readonly #databases: PostgresDatabase[] = [];
  readonly #pools: Pool[] = [];
  readonly #processes: Record<Role, RunningProgram[]> = { intake: [], consumer: [] };

  private constructor(servers: RabbitmqServers, options: RabbitmqWorldOptions) {
    this.servers = servers;
    this.#options = options;
  }

  static async start(servers: RabbitmqServers, worldOptions: RabbitmqWorldOptions): Promise<RabbitmqWorld> {
    const world = new RabbitmqWorld(servers, worldOptions);
    try {
      for (const server of servers.postgres) {
        const database = await server.database();
        world.#databases.push(database);
        const pool = database.pool({ max: 1 });
        world.#pools.push(pool);
        for (const statement of receiverTables) await pool.query(statement);
      }
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
  async startProcess(role: Role, index: number): Promise<void> {
    const urls =
      index === 0
        ? this.proxies.map(({ port }) => `amqp://guest:guest@127.0.0.1:${port}`)
        : this.servers.cluster.urls;
    const shards = this.#databases.map(({ url }) => url);
    const { program, ...named } = this.#options;
    const options: RabbitmqReceiverOptions = { role, urls, ...named, shards };
    const started = new RunningProgram([...program, JSON.stringify(options)]);
    this.#processes[role][index] = started;
    const [, port] = await started.said(role === "intake" ? /^port (\d+)$/m : /^(consuming)$/m);
    if (role === "intake") this.ports[index] = Number(port);
  }

  async killProcess(role: Role, index: number): Promise<void> {
    const killed = this.#processes[role][index];
    killed?.signal("SIGKILL");
    await killed?.ended();
  }

  /** Ends a process as a deployment does, and starts the next one. */
  async restartProcess(role: Role, index: number): Promise<void> {
    const ending = this.#processes[role][index];
    ending?.signal("SIGTERM");
    const ended = await ending?.ended();
    if (ended?.code !== 0) throw new Error(`a process ended with ${ended?.code}: ${ended?.output}`);
    await this.startProcess(role, index);
  }

  /** Sets the clock of a process forward by four minutes and returns how it is set back. */
  setClockForward(role: Role, index: number): () => void {
    const set = this.#processes[role][index];
    set?.signal("SIGUSR2");
    return () => set?.signal("SIGUSR2");
  }

  /** Stops a process and returns how it continues. */
  freezeProcess(role: Role, index: number): () => void {
    const frozen = this.#processes[role][index];
    frozen?.signal("SIGSTOP");
    return () => frozen?.signal("SIGCONT");
  }

  /** Of the first shard. */
  get exchange(): string {
    return `${this.#options.name}.v1.s0of2`;
  }

  /** The node that leads the first queue of the first shard. */
  async leader(): Promise<number> {
    const queue = `rabbit_misc:r(<<"/">>, queue, <<"${this.exchange}.p0">>)`;
    const pid = `element(2, amqqueue:get_pid(element(2, rabbit_amqqueue:lookup(${queue}))))`;
    // A node that has just started may not know it.
    return await Promise.any(
      nodes.map(async (asked) => {
        const response = await this.servers.cluster.evaluate(asked, pid);
        const [, index] = /rabbit(\d)@/.exec(response) ?? [];
        if (index === undefined) throw new Error(`no leader was found: ${response}`);
        return Number(index);
      }),
    );
  }

  /** Resolves once nothing more is handled, for a while: with its intakes frozen its queues are empty. */
  async drained(): Promise<void> {
    let before: unknown;
    for (let handled: unknown = ""; handled !== before; ) {
      before = handled;
      await pause(5_000);
      handled = JSON.stringify(await this.query("SELECT count(*) FROM effects"));
    }
  }

  async query(statement: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
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
