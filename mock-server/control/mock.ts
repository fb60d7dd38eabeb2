import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import * as z from "zod";
import { MockServerError } from "../errors.ts";
import { countScheduled } from "../rules/delivery-attempt.ts";
import { dueAttemptOf } from "../rules/delivery-scheduler.ts";
import { dueAtMsOf } from "../rules/tasks.ts";
import { readSnapshot } from "../snapshot/read-snapshot.ts";
import { restoreWorld, takeSnapshot } from "../snapshot/snapshot.ts";
import type { Snapshot } from "../snapshot/snapshot-schema.ts";
import type { FaultPlan } from "../state/fault.ts";
import {
  type AttemptRecord,
  type DeliveryRecord,
  deliveryStatusSchema,
  taskStatusSchema,
} from "../state/records.ts";
import { isoTime, isoTimeOrNull } from "../time/duration.ts";
import { realClock } from "../time/real-clock.ts";
import type { VirtualClock } from "../time/virtual-clock.ts";
import type { World } from "../world/world.ts";
import { createWorldClock } from "../world/world-holder.ts";
import { isRejected } from "./deliveries.ts";
import { duration, id, listOf, time } from "./fields.ts";
import { type ControlContext, defineRoute } from "./route.ts";
import { type NewWorld, newWorld, type WorldDirectory, world } from "./worlds.ts";

const health = z.object({
  status: z.literal("ok"),
  version: z.string(),
  now: time,
  epoch: z.int().describe("Number of resets and restores."),
});

const overview = z.object({
  clients: z.int(),
  endpoints: z.int(),
  events: z.int(),
  tasks: z.record(taskStatusSchema, z.int()),
  deliveries: z.record(deliveryStatusSchema, z.int()),
  rejectedDeliveries: z
    .int()
    .describe("Deliveries whose last attempt failed: tried again, paused or failed."),
  requests: z.int().describe("GraphQL requests since the start or the last reset."),
  activeFaults: z.int().describe("Instructions left and probabilities of the fault plan."),
  upcoming: z
    .array(
      z.object({
        kind: z.enum(["attempt", "stage"]),
        state: z.enum(["running", "waits for a connection", "waits for an event", "scheduled"]),
        count: z.int().describe("Those with the same state, endpoint and number, or name of the stage."),
        id: id.describe("The first one's: the delivery's, or the task's whose stage ends."),
        name: z.string().describe("The first one's: the event's, or the stage's."),
        attempt: z.int().nullable().describe("Its number in the schedule; `null` for a stage."),
        endpointId: id.nullable(),
        url: z.string().nullable(),
        at: time.nullable().describe("When the first one is due, or started; `null`: it waits for another."),
      }),
    )
    .describe("At most ten lines: what runs, what waits for its turn, and the next timers, soonest first."),
  failedAttemptsLastHour: z.int().describe("In the mock's time."),
  health: z
    .array(
      z.object({
        endpointId: id,
        attempts: z.int().describe("Of the deliveries that the mock still has."),
        succeeded: z.int(),
        lastSuccessAt: time.nullable(),
        failingSince: time.nullable().describe("Its first failed attempt after the last that succeeded."),
        recent: z
          .array(z.object({ at: time, status: z.int().nullable(), error: z.string().nullable() }))
          .describe("Its last twenty attempts, oldest first."),
      }),
    )
    .describe("How each endpoint responds."),
});

const clock = z.object({
  now: time,
  mode: z.enum(["real", "virtual"]),
  pendingTimers: z.int().nullable().describe("`null` on a real clock."),
  nextTimerAt: time.nullable(),
  aheadOfRealMs: z
    .number()
    .describe(
      "The mock's time minus this computer's. A receiver with its own clock rejects deliveries that are more than its tolerance away, 300 s as a rule.",
    ),
});

const advanced = z.object({
  now: time,
  fired: z.int().describe("Timers that fired; tasks and retries may share one."),
});

const snapshot = z.looseObject({}) as unknown as z.ZodType<Snapshot, object>;

export type Overview = z.output<typeof overview>;
export type ClockView = z.output<typeof clock>;

function requireDirectory({ directory }: ControlContext): WorldDirectory {
  if (directory) return directory;
  throw new MockServerError("NOT_FOUND", "only the mock's own control API, without /w/, has worlds");
}

const virtualOf = ({ clock }: ControlContext): VirtualClock | null => ("advance" in clock ? clock : null);

export const mockRoutes = {
  getHealth: defineRoute("GET /health", {
    summary: "Version, time and number of resets of the mock.",
    response: health,
    run: ({ worlds, clock, version }) => ({
      status: "ok" as const,
      version,
      now: isoTime(clock.now()),
      epoch: worlds.current.epoch,
    }),
  }),
  getOverview: defineRoute("GET /overview", {
    summary: "Counts of everything, how each endpoint responds, what runs, and the next timers.",
    response: overview,
    run: ({ worlds }) => overviewOf(worlds.current),
  }),
  getClock: defineRoute("GET /clock", {
    summary: "The mock's time and timers.",
    response: clock,
    run(context): ClockView {
      const virtual = virtualOf(context);
      const pending = virtual?.pending();
      return {
        now: isoTime(context.clock.now()),
        mode: virtual ? "virtual" : "real",
        pendingTimers: pending?.timers ?? null,
        nextTimerAt: isoTimeOrNull(pending?.nextAtMs ?? null),
        aheadOfRealMs: virtual ? virtual.now() - realClock.now() : 0,
      };
    },
  }),
  advanceClock: defineRoute("POST /clock/advance", {
    summary: "Advances a virtual clock; responds when everything due until then has settled.",
    input: z.strictObject({ by: duration }),
    response: advanced,
    async run({ worlds, clock }, { by }) {
      const fired = await createWorldClock(worlds, clock).advance(by);
      return { now: isoTime(clock.now()), fired };
    },
  }),
  reset: defineRoute("POST /reset", {
    summary: "Restarts from the seed: state, ids, time, rate limits, journal, faults and timers.",
    run: ({ worlds }) => worlds.reset(),
  }),
  getSnapshot: defineRoute("GET /snapshot", {
    summary: "The whole state as one document.",
    response: snapshot,
    run: ({ worlds }) => takeSnapshot(worlds.current, worlds.seedData.workspaceId),
  }),
  restoreSnapshot: defineRoute("PUT /snapshot", {
    summary: "Restores a snapshot, with its pending deliveries and stages.",
    // Checked in detail by the reader of snapshots, also over HTTP.
    input: z.unknown() as unknown as z.ZodType<Snapshot, object>,
    run: ({ worlds }, snapshot) =>
      restoreWorld(worlds, readSnapshot(snapshot, worlds.current.settings.bounds)),
  }),
  createWorld: defineRoute("POST /worlds", {
    summary: "Creates an isolated world with its own keys, clock, faults, deliveries and seed.",
    input: newWorld,
    status: 201,
    response: world,
    run: (context, input = {}) => requireDirectory(context).create(input as NewWorld),
  }),
  listWorlds: defineRoute("GET /worlds", {
    summary: "All worlds; `main` is the mock's own.",
    response: listOf(world),
    run: (context) => ({ data: requireDirectory(context).list() }),
  }),
  dropWorld: defineRoute("DELETE /worlds/{name}", {
    summary: "Ends a world: its timers, deliveries and streams.",
    run: (context, name) => requireDirectory(context).drop(name),
  }),
};

function overviewOf(world: World): Overview {
  const { state, journal, faults } = world;
  const tasks = { RUNNING: 0, COMPLETED: 0, FAILED: 0 };
  for (const { status } of state.tasks.values()) tasks[status]++;
  const deliveries = { pending: 0, paused: 0, succeeded: 0, failed: 0, cancelled: 0 };
  let rejectedDeliveries = 0;
  for (const delivery of state.deliveries.values()) {
    deliveries[delivery.status]++;
    if (isRejected(delivery)) rejectedDeliveries++;
  }
  return {
    rejectedDeliveries,
    requests: journal.count,
    activeFaults: countFaults(faults.plan()),
    clients: state.clients.size,
    endpoints: state.endpoints.size,
    events: state.events.size,
    tasks,
    deliveries,
    upcoming: upcoming(world),
    ...healthOf(world),
  };
}

const countFaults = ({ api = [], deliveries = [] }: FaultPlan): number =>
  [...api, ...deliveries].reduce(
    (count, { instructions = [], chances = [] }) => count + instructions.length + chances.length,
    0,
  );

const recentMax = 20;
const hourMs = 3_600_000;

type Health = Overview["health"][number];

/** How each endpoint has responded to the attempts that the mock still has, replays included. */
function healthOf({ state, clock }: World): Pick<Overview, "health" | "failedAttemptsLastHour"> {
  const hourAgoMs = clock.now() - hourMs;
  const byEndpoint = new Map<string, AttemptRecord[]>();
  for (const { id } of state.endpoints.values()) byEndpoint.set(id, []);
  let failedAttemptsLastHour = 0;
  for (const { endpointId, attempts } of state.deliveries.values()) {
    const ofEndpoint = byEndpoint.get(endpointId);
    for (const attempt of attempts) {
      ofEndpoint?.push(attempt);
      if (!isAccepted(attempt) && attempt.startedAtMs >= hourAgoMs) failedAttemptsLastHour++;
    }
  }
  const health = [...byEndpoint].map(([endpointId, attempts]) => ({ endpointId, ...summaryOf(attempts) }));
  return { health, failedAttemptsLastHour };
}

const isAccepted = ({ error }: AttemptRecord) => error === null;

function summaryOf(attempts: AttemptRecord[]): Omit<Health, "endpointId"> {
  attempts.sort((a, b) => a.startedAtMs - b.startedAtMs);
  const lastSuccess = attempts.findLastIndex(isAccepted);
  const timeOf = (attempt: AttemptRecord | undefined) => isoTimeOrNull(attempt?.startedAtMs ?? null);
  return {
    attempts: attempts.length,
    succeeded: attempts.filter(isAccepted).length,
    lastSuccessAt: timeOf(attempts[lastSuccess]),
    failingSince: timeOf(attempts[lastSuccess + 1]),
    recent: attempts.slice(-recentMax).map(({ startedAtMs, status, error }) => ({
      at: isoTime(startedAtMs),
      status,
      error,
    })),
  };
}

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
function upcoming(world: World): Overview["upcoming"] {
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
