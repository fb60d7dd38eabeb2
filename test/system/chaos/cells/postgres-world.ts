// A primary with two standbys, of which one must confirm each commit, and two receivers that know all three servers.

import { createFreezingProxy, type FreezingProxy } from "../../../support/freezing-proxy.ts";
import { KillableReceiver, receiverTables } from "../../../support/killable-receiver.ts";
import type { ChaosWorld } from "../chaos-cell.ts";
import { PostgresCluster, type PostgresClusterOptions } from "./postgres-cluster.ts";

export class PostgresWorld implements ChaosWorld {
  readonly cluster: PostgresCluster;
  readonly ports: number[] = [];
  /** Between the first receiver and the servers. */
  readonly proxies: FreezingProxy[] = [];
  readonly #receivers: KillableReceiver[] = [];

  private constructor(cluster: PostgresCluster) {
    this.cluster = cluster;
  }

  static async start(options: PostgresClusterOptions): Promise<PostgresWorld> {
    const cluster = await PostgresCluster.start(options);
    const world = new PostgresWorld(cluster);
    try {
      for (const statement of receiverTables) await world.query(statement);
      for (const { port } of cluster.servers) world.proxies.push(await createFreezingProxy(port));
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
    const receiver = await KillableReceiver.load({ store, handlerMs: 1, leaseMs: 2_000 });
    this.#receivers[index] = receiver;
    this.ports[index] = await receiver.begin();
  }

  receiver(index: number): KillableReceiver {
    const receiver = this.#receivers[index];
    if (!receiver) throw new Error(`there is no receiver ${index}`);
    return receiver;
  }

  query(statement: string) {
    return this.cluster.primary.query(statement);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const receiver of this.#receivers) await receiver.kill();
    for (const proxy of this.proxies) await proxy[Symbol.asyncDispose]();
    await this.cluster[Symbol.asyncDispose]();
  }
}
