// A primary with two standbys, of which one must confirm each commit, and two receivers that know all three servers.

import pg from "pg";
import { createFreezingProxy, type FreezingProxy } from "../../../support/freezing-proxy.ts";
import { KillableReceiver, receiverTables } from "../../../support/killable-receiver.ts";
import { PostgresCluster } from "../../../support/postgres-cluster.ts";
import { SettableClock } from "../../../support/settable-clock.ts";
import type { ChaosWorld } from "../chaos-cell.ts";
import { readEffects, readStates } from "./effect-rows.ts";

export interface PostgresWorldOptions {
  /** Of the first primary's disk, where it is to be small. */
  readonly diskBytes?: number | undefined;
  /** Of `postgresTemplate`. Default: a new one is made. */
  readonly template?: string | undefined;
  /** True when the clocks of the first primary and the first receiver can be set. */
  readonly hasClocks?: boolean | undefined;
}

export class PostgresWorld implements ChaosWorld {
  readonly cluster: PostgresCluster;
  readonly ports: number[] = [];
  /** Between the first receiver and the servers. */
  readonly proxies: FreezingProxy[] = [];
  readonly clocks: Clocks | undefined;
  readonly #receivers: KillableReceiver[] = [];

  private constructor(cluster: PostgresCluster, clocks: Clocks | undefined) {
    this.cluster = cluster;
    this.clocks = clocks;
  }

  static async start({ diskBytes, hasClocks, template }: PostgresWorldOptions): Promise<PostgresWorld> {
    const clocks = hasClocks ? { server: new SettableClock(), receiver: new SettableClock() } : undefined;
    const cluster = await PostgresCluster.start({ diskBytes, template, env: clocks?.server.env });
    const world = new PostgresWorld(cluster, clocks);
    try {
      for (const statement of receiverTables) await world.#query(statement);
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
    const env = index === 0 ? this.clocks?.receiver.env : undefined;
    const options = { store, handlerMs: 1, leaseMs: 2_000 };
    const receiver = await KillableReceiver.load(options, env && { env });
    this.#receivers[index] = receiver;
    this.ports[index] = await receiver.begin();
  }

  receiver(index: number): KillableReceiver {
    const receiver = this.#receivers[index];
    if (!receiver) throw new Error(`there is no receiver ${index}`);
    return receiver;
  }

  effects() {
    return readEffects((statement) => this.#query(statement));
  }

  states() {
    return readStates((statement) => this.#query(statement));
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
    for (const clock of Object.values(this.clocks ?? {})) clock[Symbol.dispose]();
  }
}

interface Clocks {
  readonly server: SettableClock;
  readonly receiver: SettableClock;
}
