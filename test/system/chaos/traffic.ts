import type { Random } from "../../integration/simulation/random.ts";
import { sampleEvent } from "../../support/sample-event.ts";
import type { DeliveryToSend } from "./delivery-sender.ts";

/** Deliveries of one run, in the order in which they are sent first. */
export interface Traffic {
  readonly deliveries: readonly DeliveryToSend[];
  /** The status of the newest event of each task. */
  readonly finalStates: ReadonlyMap<string, string>;
}

/** One to four events of each task, a microsecond to a second apart, in random order over all tasks. */
export function createTraffic(name: string, tasks: number, random: Random): Traffic {
  const deliveries: DeliveryToSend[] = [];
  const finalStates = new Map<string, string>();
  for (let task = 0; task < tasks; task++) {
    const taskId = `${name}-task-${task}`;
    let micros = 0;
    for (const [index, status] of statusesOf(random).entries()) {
      micros += random.pick([1, 1_000, 1_000_000]);
      const occurredAt = `2026-03-01T00:00:0${(micros / 1_000_000).toFixed(6)}Z`;
      const event = sampleEvent({ event: `task.${status.toLowerCase()}`, taskId, status, occurredAt });
      deliveries.push({ id: `${taskId}-${index}`, body: JSON.stringify(event) });
      finalStates.set(taskId, status);
    }
  }
  return { deliveries: shuffled(deliveries, random), finalStates };
}

/** A failed task may run again. */
function statusesOf(random: Random): readonly string[] {
  const again = random.happens(0.3) ? ["RUNNING", random.pick(["COMPLETED", "FAILED"])] : [];
  const first = random.pick([["RUNNING"], ["RUNNING", "COMPLETED"], ["RUNNING", "COMPLETED"]]);
  return again.length > 0 ? ["RUNNING", "FAILED", ...again] : first;
}

export function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  return items
    .map((item) => ({ item, place: random.number() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ item }) => item);
}
