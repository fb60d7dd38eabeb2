// Two receivers on one inbox, replaced by other releases while deliveries arrive.

import { setTimeout as pause } from "node:timers/promises";
import { systemClock } from "../../../../sdk/kernel/clock.ts";
import { withTimeout } from "../../../../sdk/kernel/with-timeout.ts";
import type { Random } from "../../../integration/simulation/random.ts";
import { KillableReceiver } from "../../../support/killable-receiver.ts";
import { machineMicros } from "../../../support/machine-time.ts";
import { oldestRelease, type ReleaseName, type Releases } from "../../../support/releases.ts";
import { sampleEvent } from "../../../support/sample-event.ts";
import type { ChaosWorld } from "../chaos-cell.ts";
import { DeliverySender } from "../delivery-sender.ts";
import type { ReceiverStore } from "./receiver-store.ts";

interface Running {
  readonly release: ReleaseName;
  readonly receiver: KillableReceiver;
}

export class ReleaseWorld implements ChaosWorld {
  readonly ports: number[] = [];
  readonly #store: ReceiverStore;
  readonly #releases: Releases;
  readonly #running: Running[] = [];
  /** Processes that have loaded their release and wait to be started. */
  readonly #loaded: Running[] = [];

  private constructor(store: ReceiverStore, releases: Releases) {
    this.#store = store;
    this.#releases = releases;
  }

  static async start(store: ReceiverStore, releases: Releases): Promise<ReleaseWorld> {
    const world = new ReleaseWorld(store, releases);
    try {
      // To load them takes longer than all deliveries.
      for (const [release, count] of Object.entries(processes) as [ReleaseName, number][])
        for (let loaded = 0; loaded < count; loaded++) await world.#load(release);
      await world.#begin(0, "present");
      await world.#begin(1, "present");
      return world;
    } catch (error) {
      await world[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #load(release: ReleaseName): Promise<void> {
    const options = { store: this.#store.location, handlerMs: 1, leaseMs: 2_000 };
    const receiver = await KillableReceiver.load(options, {}, undefined, this.#releases[release]);
    this.#loaded.push({ release, receiver });
  }

  async #begin(index: number, release: ReleaseName): Promise<void> {
    const place = this.#loaded.findIndex((loaded) => loaded.release === release);
    const [next] = this.#loaded.splice(place, 1);
    if (!next || place === -1) throw new Error(`no process with the release ${release} is left`);
    this.#running[index] = next;
    this.ports[index] = await next.receiver.begin();
  }

  async #replace(index: number, release: ReleaseName, random?: Random): Promise<void> {
    const { receiver } = this.#at(index);
    if (random?.happens(0.5) ?? true) await receiver.kill();
    else await receiver.stop();
    await this.#begin(index, release);
  }

  #at(index: number): Running {
    const running = this.#running[index];
    if (!running) throw new Error(`there is no receiver ${index}`);
    return running;
  }

  async rollForwardAndBack(random: Random): Promise<void> {
    await this.#replace(0, "next", random);
    await this.#untilBothStored();
    const killed = random.pick([0, 1]);
    await this.#replace(killed, this.#at(killed).release);
    await pause(random.integer(0, 300));
    await this.#replace(0, "present", random);
    await pause(random.integer(0, 300));
    await this.#replace(0, "next", random);
    await pause(random.integer(0, 300));
  }

  /** Deliveries of the release that knows the new column, and of the one that does not. */
  async #untilBothStored(): Promise<void> {
    const [newest] = await this.query("SELECT coalesce(max(seq), 0) AS seq FROM $deliveries");
    const endsAt = performance.now() + timeoutMs;
    for (;;) {
      const rows = await this.query(
        `SELECT DISTINCT coalesce(stored_by, 'present') AS release FROM $deliveries WHERE seq > ${newest?.["seq"]}`,
      );
      if (rows.length === 2) return;
      if (performance.now() > endsAt)
        throw new Error(`expected deliveries of two releases, found those of ${JSON.stringify(rows)}`);
      await pause(20);
    }
  }

  /** The release after the next one needs what the present one does not write. */
  async excludeFormerRelease(): Promise<void> {
    await this.#begin(2, "after");
    const excludedAt = machineMicros();
    const former = this.#at(1).receiver;
    const logged = former.logged(new RegExp(`run release ${oldestRelease} or newer[^]*RELEASE_TOO_OLD`));
    await withTimeout(logged, timeoutMs, systemClock, () => new Error("no error names the release to run"));
    using sender = new DeliverySender();
    const delivery = { id: "excluded", body: JSON.stringify(sampleEvent()) };
    const status = await sender.attempt(this.ports[1] ?? 0, delivery);
    if (status !== 503) throw new Error(`a release that is too old responded ${status}, expected 503`);
    await pause(500);
    const late = await this.query(
      `SELECT webhook_id FROM effects WHERE process = '${former.pid}' AND ended > ${excludedAt}`,
    );
    if (late.length > 0) throw new Error(`a release that is too old handled ${JSON.stringify(late[0])}`);
    await this.#replace(1, "after");
  }

  /** `$deliveries` stands for the table of the inbox. */
  query(statement: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const isPostgres = this.#store.location.startsWith("postgres://");
    const table = isPostgres ? "workspace_tasks.deliveries" : "workspace_tasks_deliveries";
    return this.#store.query(statement.replaceAll("$deliveries", table));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { receiver } of [...this.#running, ...this.#loaded]) await receiver.kill();
    await this.#store[Symbol.asyncDispose]();
  }
}

const timeoutMs = 20_000;
/** How many of each release a run starts at most. */
const processes: Readonly<Record<ReleaseName, number>> = { present: 4, next: 3, after: 2 };
