// Sends deliveries to all receivers in turn, as the service does: signed again at each attempt, and retried until they are
// acknowledged. Meanwhile the cell breaks something and repairs it. Afterwards every acknowledged delivery must have
// exactly one effect, and every task the state of its newest event.

import { setTimeout as pause } from "node:timers/promises";
import { createTraffic, shuffled } from "../crash/crash-traffic.ts";
import { createRandom } from "../simulation/random.ts";
import { DeliverySender, type DeliveryToSend } from "../support/delivery-sender.ts";
import type { ChaosCell, ChaosWorld } from "./chaos-cell.ts";

export interface CellReport {
  readonly cell: string;
  readonly seed: number;
  readonly acknowledged: number;
  /** Responses other than 200. */
  readonly rejected: number;
  /** Acknowledged deliveries without an effect. */
  readonly lost: number;
  /** Deliveries with more than one effect. */
  readonly twice: number;
  /** Tasks without the state of their newest event. */
  readonly wrong: number;
  /** The longest time without an acknowledgement, and without an effect, from the fault on. */
  readonly acceptPauseMs: number;
  readonly handlePauseMs: number;
  readonly examples: readonly string[];
}

export const isFlawless = (report: CellReport, { rejectsNothing }: ChaosCell): boolean =>
  report.lost + report.twice + report.wrong === 0 && !(rejectsNothing && report.rejected > 0);

export interface Load {
  readonly tasks: number;
  /** How long deliveries arrive before the fault, and after its repair. */
  readonly beforeMs: number;
  readonly afterMs: number;
  /** How long the rest may take until it is handled, and five times as long until it is acknowledged. */
  readonly drainTimeoutMs: number;
}

const usualLoad: Load = { tasks: 1_200, beforeMs: 1_500, afterMs: 2_000, drainTimeoutMs: 60_000 };
const senders = 8;

export async function runCell(cell: ChaosCell, seed: number, load = usualLoad): Promise<CellReport> {
  const { tasks, beforeMs, afterMs, drainTimeoutMs } = load;
  const random = createRandom(seed, `chaos ${cell.name}`);
  const { deliveries, finalStates } = createTraffic(`seed-${seed}`, tasks, random);
  await using world = await cell.start();
  const repeated = deliveries.slice(0, Math.ceil(deliveries.length / 10));
  using traffic = new Traffic(world, shuffled([...deliveries, ...repeated], random));
  const sending = traffic.send((choices) => random.integer(0, choices - 1));
  await pause(beforeMs + random.integer(0, beforeMs / 3));
  const brokenAtMs = Date.now();
  await world.inject(random);
  await pause(Math.max(0, cell.brokenMs - (Date.now() - brokenAtMs)));
  await world.repair();
  await pause(afterMs);
  traffic.finish(5 * drainTimeoutMs);
  await sending;
  await waitForEffects(world, traffic.acknowledged, drainTimeoutMs);
  const effects = await world.effects();
  const { lost, twice, wrong, examples } = await count(world, traffic.acknowledged, effects, finalStates);
  const handledAtMs = effects.map(({ atMs }) => atMs).toSorted((a, b) => a - b);
  return {
    ...{ cell: cell.name, seed, acknowledged: traffic.acknowledged.size, rejected: traffic.rejected },
    ...{ lost: lost.length, twice: twice.length, wrong: wrong.length, examples },
    acceptPauseMs: longestPause(traffic.acknowledgedAtMs, brokenAtMs),
    handlePauseMs: longestPause(handledAtMs, brokenAtMs),
  };
}

class Traffic implements Disposable {
  readonly acknowledged = new Set<string>();
  readonly acknowledgedAtMs: number[] = [];
  rejected = 0;
  readonly #world: ChaosWorld;
  readonly #all: readonly DeliveryToSend[];
  readonly #pending: DeliveryToSend[];
  readonly #senders: DeliverySender[] = [];
  #isFinishing = false;
  #deadlineMs = Number.POSITIVE_INFINITY;

  constructor(world: ChaosWorld, deliveries: readonly DeliveryToSend[]) {
    this.#world = world;
    this.#all = deliveries;
    this.#pending = [...deliveries];
  }

  /** Sends until `finish` was called and everything is acknowledged. */
  async send(choose: (choices: number) => number): Promise<void> {
    const sendInTurn = async () => {
      for (;;) {
        const delivery =
          this.#pending.pop() ?? (this.#isFinishing ? undefined : this.#all[choose(this.#all.length)]);
        if (!delivery) return;
        if (Date.now() > this.#deadlineMs) throw new Error("the deliveries were not acknowledged in time");
        if (!(await this.#attempt(delivery, choose))) {
          this.#pending.unshift(delivery);
          await pause(100);
        }
        await pause(choose(this.#isFinishing ? 2 : 30));
      }
    };
    await Promise.all(Array.from({ length: senders }, sendInTurn));
  }

  finish(timeoutMs: number): void {
    this.#isFinishing = true;
    this.#deadlineMs = Date.now() + timeoutMs;
  }

  async #attempt(delivery: DeliveryToSend, choose: (choices: number) => number): Promise<boolean> {
    const { ports } = this.#world;
    const first = choose(ports.length);
    // As a load balancer does: another process when one cannot be reached.
    for (let offset = 0; offset < ports.length; offset++) {
      const index = (first + offset) % ports.length;
      const sender = this.#senders[index] ?? new DeliverySender();
      this.#senders[index] = sender;
      sender.aimAt(ports[index] ?? 0);
      const status = await sender.attempt(delivery);
      if (status === 200) {
        this.acknowledged.add(delivery.id);
        this.acknowledgedAtMs.push(Date.now());
        return true;
      }
      if (status >= 400 && status < 429) throw new Error(`a valid delivery was rejected with ${status}`);
      if (status !== 0) {
        this.rejected += 1;
        return false;
      }
    }
    return false;
  }

  [Symbol.dispose](): void {
    for (const sender of this.#senders) sender?.[Symbol.dispose]();
  }
}

async function waitForEffects(
  world: ChaosWorld,
  acknowledged: ReadonlySet<string>,
  drainTimeoutMs: number,
): Promise<void> {
  const deadlineMs = Date.now() + drainTimeoutMs;
  while (Date.now() < deadlineMs) {
    const effects = await world.effects().catch(() => []);
    const handled = new Set(effects.map(({ id }) => id));
    if ([...acknowledged].every((id) => handled.has(id))) return;
    await pause(200);
  }
}

async function count(
  world: ChaosWorld,
  acknowledged: ReadonlySet<string>,
  effects: readonly { readonly id: string }[],
  finalStates: ReadonlyMap<string, string>,
) {
  const times = new Map<string, number>();
  for (const { id } of effects) times.set(id, (times.get(id) ?? 0) + 1);
  const lost = [...acknowledged].filter((id) => !times.has(id));
  const twice = [...times].filter(([, number]) => number > 1).map(([id]) => id);
  const states = await world.states();
  const wrong = [...finalStates]
    .filter(([task, status]) => states.get(task) !== status)
    .map(([task]) => task);
  const note = (kind: string, ids: readonly string[]) => ids.slice(0, 3).map((id) => `${kind}: ${id}`);
  const examples = [...note("lost", lost), ...note("twice", twice), ...note("wrong", wrong)];
  return { lost, twice, wrong, examples };
}

/** The longest time between two of the instants, of those that end after `sinceMs`. */
function longestPause(sortedMs: readonly number[], sinceMs: number): number {
  let longest = 0;
  for (const [index, atMs] of sortedMs.entries()) {
    if (atMs < sinceMs) continue;
    longest = Math.max(longest, atMs - Math.max(sinceMs, sortedMs[index - 1] ?? sinceMs));
  }
  return longest;
}
