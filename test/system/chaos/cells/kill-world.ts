// Receivers on one inbox, each of which is killed at a random instant and replaced, round after round.

import { setTimeout as pause } from "node:timers/promises";
import type { Random } from "../../../integration/simulation/random.ts";
import { KillableReceiver, type KillableReceiverOptions } from "../../../support/killable-receiver.ts";
import type { ChaosWorld } from "../chaos-cell.ts";
import type { ReceiverStore } from "./receiver-store.ts";

/** How long a process lives at most: also while it opens the inbox. */
const killWithinMs = 700;

/** A process, and the next one in its place, which loads its modules meanwhile. */
interface Place {
  receiver: KillableReceiver;
  next: Promise<KillableReceiver>;
  begun: Promise<void>;
}

export class KillWorld implements ChaosWorld {
  readonly ports: number[] = [];
  readonly #store: ReceiverStore;
  readonly #options: Partial<KillableReceiverOptions>;
  readonly #places: Place[] = [];
  #loaded = 0;

  private constructor(store: ReceiverStore, options: Partial<KillableReceiverOptions>) {
    this.#store = store;
    this.#options = options;
  }

  static async start(
    store: ReceiverStore,
    processes: number,
    options: Partial<KillableReceiverOptions> = {},
  ): Promise<KillWorld> {
    const world = new KillWorld(store, options);
    try {
      for (let index = 0; index < processes; index++) {
        const receiver = await world.#load();
        world.#places.push({ receiver, next: world.#load(), begun: Promise.resolve() });
      }
      // At the same time, so that their migrations compete.
      for (const index of world.#places.keys()) world.#begin(index);
      await world.settled();
      return world;
    } catch (error) {
      await world[Symbol.asyncDispose]();
      throw error;
    }
  }

  #load(): Promise<KillableReceiver> {
    this.#loaded += 1;
    const usual = { connectionTimeoutMs: 20_000, failingShare: 0.05, handlerMs: 2, seed: this.#loaded };
    return KillableReceiver.load({ store: this.#store.location, ...usual, ...this.#options });
  }

  #place(index: number): Place {
    const place = this.#places[index];
    if (!place) throw new Error(`there is no receiver ${index}`);
    return place;
  }

  #begin(index: number): void {
    const place = this.#place(index);
    place.begun = place.receiver.begin().then((port) => {
      this.ports[index] = port;
    });
    place.begun.catch(() => {});
  }

  /** Resolves when every process that lives receives deliveries. */
  async settled(): Promise<void> {
    await Promise.all(this.#places.map(({ begun }) => begun));
  }

  async kill(random: Random, rounds: number): Promise<void> {
    for (let round = 0; round < rounds; round++) {
      await Promise.all(
        this.#places.map(async (place, index) => {
          const next = await place.next;
          await pause(random.integer(1, killWithinMs));
          await place.receiver.kill();
          Object.assign(place, { receiver: next, next: this.#load() });
          this.#begin(index);
        }),
      );
    }
  }

  query(statement: string) {
    return this.#store.query(statement);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { receiver, next } of this.#places) {
      await receiver.kill();
      await (await next).kill();
    }
    await this.#store[Symbol.asyncDispose]();
  }
}
