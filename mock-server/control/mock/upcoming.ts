import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import { countScheduled } from "../../rules/deliveries/delivery-record.ts";
import { dueAttemptOf } from "../../rules/deliveries/delivery-scheduler.ts";
import { dueAtMsOf } from "../../rules/tasks/progression.ts";
import type { DeliveryRecord } from "../../state/records.ts";
import { isoTimeOrNull } from "../../time/iso-time.ts";
import type { World } from "../../world/world.ts";
import type { Overview } from "./mock-routes.ts";

const upcomingMax = 10;

/** A timer, or an attempt that is due; equal ones become one line. */
interface Item extends Omit<Overview["upcoming"][number], "count" | "at" | "until" | "state"> {
  readonly state: Overview["upcoming"][number]["state"];
  /** Start of what runs, or when it is due; `null`: it waits for another one. */
  readonly atMs: number | null;
}

/** What runs, what waits for its turn, and the next timers: in this order, and each the soonest first. */
export function upcoming(world: World): Overview["upcoming"] {
  const groups = new Map<string, Item[]>();
  for (const item of [...attempts(world), ...stages(world)]) {
    const { kind, state, attempt, endpointId, name } = item;
    const key = [kind, state, endpointId, attempt, kind === "stage" ? name : ""].join(" ");
    getOrCreate(groups, key, () => []).push(item);
  }
  const lines = [...groups.values()].map((items) => {
    const sorted = items.sort((a, b) => (a.atMs ?? 0) - (b.atMs ?? 0));
    const [first] = sorted as [Item];
    return { ...first, count: sorted.length, untilMs: sorted.at(-1)?.atMs ?? null };
  });
  lines.sort((a, b) => rankOf(a) - rankOf(b) || (a.atMs ?? 0) - (b.atMs ?? 0));
  return lines.slice(0, upcomingMax).map(({ atMs, untilMs, ...line }) => ({
    ...line,
    at: isoTimeOrNull(atMs),
    until: isoTimeOrNull(untilMs),
  }));
}

const rankOf = ({ state }: Item) => (state === "running" ? 0 : state === "scheduled" ? 2 : 1);

function* attempts(world: World): Generator<Item> {
  for (const delivery of world.state.deliveries.values()) {
    if (delivery.status !== "pending") continue;
    const due = dueAttemptOf(world, delivery);
    if (due) yield attemptItem(world, delivery, due.state, due.sinceMs);
    else if (delivery.nextAttemptAtMs !== null)
      yield attemptItem(world, delivery, "scheduled", delivery.nextAttemptAtMs);
  }
}

const attemptItem = (
  { state }: World,
  delivery: DeliveryRecord,
  attemptState: Item["state"],
  atMs: number | null,
): Item => ({
  kind: "attempt",
  state: attemptState,
  id: delivery.id,
  name: delivery.eventName,
  attempt: countScheduled(delivery) + 1,
  endpointId: delivery.endpointId,
  url: state.endpoints.get(delivery.endpointId)?.url ?? null,
  atMs,
});

function* stages(world: World): Generator<Item> {
  const { progress, tasks } = world.state;
  const more = { kind: "stage", state: "scheduled", attempt: null, endpointId: null, url: null } as const;
  for (const entry of progress.values()) {
    const stage = tasks.get(entry.taskId)?.stages.findLast(({ status }) => status === "RUNNING");
    if (stage) yield { ...more, id: entry.taskId, name: stage.type, atMs: dueAtMsOf(world, entry) };
  }
}
