// Sends deliveries to all receivers in turn, as the service does: signed again at each attempt, and retried until they are
// acknowledged. Meanwhile the cell breaks something and repairs it. Afterwards every acknowledged delivery must have
// exactly one effect, and every task the state of its newest event; no event may have reached a handler after a newer one
// of its task without being called stale, nor while another one of its task was handled.

import { setTimeout as pause } from "node:timers/promises";
import { createRandom } from "../../integration/simulation/random.ts";
import { machineMicros } from "../../support/machine-time.ts";
import * as chaos from "./chaos-cell.ts";
import { DeliverySender, type DeliveryToSend } from "./delivery-sender.ts";
import { createTraffic, shuffled } from "./traffic.ts";

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
  /**
   * Tasks without the state of their newest event, and events that were handled out of order without being stale, or
   * together with another one of their task.
   */
  readonly wrong: number;
  /** The longest time without an acknowledgement, and without an effect, from the fault on. */
  readonly acceptPauseMs: number;
  readonly handlePauseMs: number;
  readonly examples: readonly string[];
}

export const isFlawless = (
  report: CellReport,
  { rejectsNothing }: Pick<chaos.Fault, "rejectsNothing">,
): boolean => report.lost + report.twice + report.wrong === 0 && !(rejectsNothing && report.rejected > 0);

const usualLoad: chaos.Load = { tasks: 150, beforeMs: 400, afterMs: 400, gapMs: 40, drainTimeoutMs: 60_000 };
const senders = 8;

export async function runCell<World extends chaos.ChaosWorld>(
  cell: chaos.Fault<World>,
  world: World,
  seed: number,
): Promise<CellReport> {
  const { tasks, beforeMs, afterMs, gapMs, drainTimeoutMs } = cell.load ?? usualLoad;
  const random = createRandom(seed, `chaos ${cell.name}`);
  const name = `seed-${seed}`;
  const { deliveries, finalStates } = createTraffic(name, tasks, random);
  const repeated = deliveries.slice(0, Math.ceil(deliveries.length / 10));
  using traffic = new Traffic(world, shuffled([...deliveries, ...repeated], random), gapMs);
  const sending = traffic.send((choices) => random.integer(0, choices - 1));
  // It is awaited below, unless the fault cannot be injected.
  sending.catch(() => {});
  await pause(beforeMs + random.integer(0, beforeMs / 3));
  const brokenAtMs = nowMs();
  const repair = await cell.inject(world, random);
  await pause(Math.max(0, cell.brokenMs - (nowMs() - brokenAtMs)));
  await repair();
  await pause(afterMs);
  traffic.finish(5 * drainTimeoutMs);
  await sending;
  await waitForEffects(world, traffic.acknowledged, drainTimeoutMs);
  const effects = (await chaos.readEffects(world)).filter(({ id }) => id.startsWith(`${name}-`));
  const { lost, twice, wrong, examples } = await count(world, traffic.acknowledged, effects, finalStates);
  const handledAtMs = effects.map(({ atMicros }) => atMicros / 1_000).toSorted((a, b) => a - b);
  return {
    cell: cell.name,
    seed,
    acknowledged: traffic.acknowledged.size,
    rejected: traffic.rejected,
    lost: lost.length,
    twice: twice.length,
    wrong: wrong.length,
    examples,
    acceptPauseMs: longestPause(traffic.acknowledgedAtMs, brokenAtMs),
    handlePauseMs: longestPause(handledAtMs, brokenAtMs),
  };
}

class Traffic implements Disposable {
  readonly acknowledged = new Set<string>();
  readonly acknowledgedAtMs: number[] = [];
  rejected = 0;
  readonly #world: chaos.ChaosWorld;
  readonly #all: readonly DeliveryToSend[];
  readonly #pending: DeliveryToSend[];
  readonly #sender = new DeliverySender();
  readonly #gapMs: number;
  #isFinishing = false;
  #isOver = false;
  #deadlineMs = Number.POSITIVE_INFINITY;

  constructor(world: chaos.ChaosWorld, deliveries: readonly DeliveryToSend[], gapMs: number) {
    this.#gapMs = gapMs;
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
        if (!delivery || this.#isOver) return;
        if (nowMs() > this.#deadlineMs) throw new Error("the deliveries were not acknowledged in time");
        if (!(await this.#attempt(delivery, choose))) {
          this.#pending.unshift(delivery);
          await pause(100);
        }
        await pause(choose(this.#isFinishing ? 2 : this.#gapMs));
      }
    };
    await Promise.all(Array.from({ length: senders }, sendInTurn));
  }

  finish(timeoutMs: number): void {
    this.#isFinishing = true;
    this.#deadlineMs = nowMs() + timeoutMs;
  }

  async #attempt(delivery: DeliveryToSend, choose: (choices: number) => number): Promise<boolean> {
    const { ports } = this.#world;
    const first = choose(ports.length);
    // As a load balancer does: another process when one cannot be reached.
    for (let offset = 0; offset < ports.length; offset++) {
      const port = ports[(first + offset) % ports.length] ?? 0;
      const status = await this.#sender.attempt(port, delivery);
      if (status === 200) {
        this.acknowledged.add(delivery.id);
        this.acknowledgedAtMs.push(nowMs());
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

  /** Also ends `send`. */
  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#sender[Symbol.dispose]();
  }
}

async function waitForEffects(
  world: chaos.ChaosWorld,
  acknowledged: ReadonlySet<string>,
  drainTimeoutMs: number,
): Promise<void> {
  const deadlineMs = nowMs() + drainTimeoutMs;
  while (nowMs() < deadlineMs) {
    const effects = await chaos.readEffects(world).catch(() => []);
    const handled = new Set(effects.map(({ id }) => id));
    if ([...acknowledged].every((id) => handled.has(id))) return;
    await pause(100);
  }
}

async function count(
  world: chaos.ChaosWorld,
  acknowledged: ReadonlySet<string>,
  effects: readonly chaos.Effect[],
  finalStates: ReadonlyMap<string, string>,
) {
  const times = new Map<string, number>();
  for (const { id } of effects) times.set(id, (times.get(id) ?? 0) + 1);
  const lost = [...acknowledged].filter((id) => !times.has(id));
  const twice = [...times].filter(([, number]) => number > 1).map(([id]) => id);
  const states = await chaos.readStates(world);
  const wrongStates = [...finalStates]
    .filter(([task, status]) => states.get(task) !== status)
    .map(([task]) => task);
  const wrong = [...wrongStates, ...outOfOrder(effects), ...overlapping(effects)];
  const note = (kind: string, ids: readonly string[]) => ids.slice(0, 3).map((id) => `${kind}: ${id}`);
  const examples = [...note("lost", lost), ...note("twice", twice), ...note("wrong", wrong)];
  return { lost, twice, wrong, examples };
}

/** Events that were handled after a newer one of their task, and were not called stale. */
function outOfOrder(effects: readonly chaos.Effect[]): readonly string[] {
  const newest = new Map<string, string>();
  const found: string[] = [];
  for (const { id, task, occurredAt, isStale } of effects.toSorted((a, b) => a.atMicros - b.atMicros)) {
    const before = newest.get(task) ?? "";
    if (occurredAt < before && !isStale) found.push(id);
    if (occurredAt > before) newest.set(task, occurredAt);
  }
  return found;
}

/** Events that began while another one of their task was handled. */
function overlapping(effects: readonly chaos.Effect[]): readonly string[] {
  const ends = new Map<string, number>();
  const found: string[] = [];
  for (const { id, task, beganMicros, atMicros } of effects.toSorted(
    (a, b) => a.beganMicros - b.beganMicros,
  )) {
    if (beganMicros < (ends.get(task) ?? 0)) found.push(id);
    ends.set(task, Math.max(ends.get(task) ?? 0, atMicros));
  }
  return found;
}

const nowMs = () => machineMicros() / 1_000;

/** The longest time between two of the instants, of those that end after `sinceMs`. */
function longestPause(sortedMs: readonly number[], sinceMs: number): number {
  let longest = 0;
  for (const [index, atMs] of sortedMs.entries()) {
    if (atMs < sinceMs) continue;
    longest = Math.max(longest, atMs - Math.max(sinceMs, sortedMs[index - 1] ?? sinceMs));
  }
  return longest;
}
