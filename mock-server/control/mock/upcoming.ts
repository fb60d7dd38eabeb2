import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import { countScheduled } from "../../rules/delivery-attempt.ts";
import { dueAttemptOf } from "../../rules/delivery-scheduler.ts";
import { dueAtMsOf } from "../../rules/tasks.ts";
import type { DeliveryRecord } from "../../state/records.ts";
import { isoTimeOrNull } from "../../time/duration.ts";
import type { World } from "../../world/world.ts";
import type { Overview } from "./mock-routes.ts";

const upcomingMax = 10;

type Line = Overview["upcoming"][number];

/** Equal timers and attempts that are due. */
interface Group extends Omit<Line, "at"> {
  count: number;
  id: string;
  name: string;
  /** Start of what runs, or when it is due; `null`: it waits for another one. */
  atMs: number | null;
}

/** What runs, what waits for its turn, and the next timers: in this order, and each the soonest first. */
export function upcoming(world: World): Overview["upcoming"] {
  const groups = new Map<string, Group>();
  for (const delivery of world.state.deliveries.values()) addAttempt(groups, world, delivery);
  addStages(groups, world);
  const lines = [...groups.values()].sort((a, b) => rankOf(a) - rankOf(b) || (a.atMs ?? 0) - (b.atMs ?? 0));
  return lines.slice(0, upcomingMax).map(({ atMs, ...line }) => ({ ...line, at: isoTimeOrNull(atMs) }));
}

const rankOf = ({ state }: Group) => (state === "running" ? 0 : state === "scheduled" ? 2 : 1);

function addAttempt(groups: Map<string, Group>, world: World, delivery: DeliveryRecord): void {
  const { id, eventName: name, endpointId, status, nextAttemptAtMs } = delivery;
  if (status !== "pending") return;
  const due = dueAttemptOf(world, delivery);
  if (!due && nextAttemptAtMs === null) return;
  const state = due?.state ?? "scheduled";
  const attempt = countScheduled(delivery) + 1;
  const group = getOrCreate(groups, `${endpointId} ${attempt} ${state}`, (): Group => {
    const url = world.state.endpoints.get(endpointId)?.url ?? null;
    return { ...emptyGroup, kind: "attempt", state, attempt, endpointId, url };
  });
  add(group, id, name, due ? due.sinceMs : nextAttemptAtMs);
}

function addStages(groups: Map<string, Group>, world: World): void {
  const { progress, tasks } = world.state;
  for (const entry of progress.values()) {
    const stage = tasks.get(entry.taskId)?.stages.findLast(({ status }) => status === "RUNNING");
    if (!stage) continue;
    const group = getOrCreate(groups, `stage ${stage.type}`, (): Group => ({ ...emptyGroup, kind: "stage" }));
    add(group, entry.taskId, stage.type, dueAtMsOf(world, entry));
  }
}

const emptyGroup = {
  state: "scheduled",
  count: 0,
  id: "",
  name: "",
  attempt: null,
  endpointId: null,
  url: null,
  atMs: null,
} as const;

function add(group: Group, id: string, name: string, atMs: number | null): void {
  if (group.count++ === 0 || (atMs ?? 0) < (group.atMs ?? 0)) Object.assign(group, { id, name, atMs });
}
