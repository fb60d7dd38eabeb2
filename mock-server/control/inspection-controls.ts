import type { z } from "zod";
import { ServiceError } from "../rules/service-error.ts";
import { dueAtMsOf, upcomingStages } from "../rules/tasks/progression.ts";
import { findTask } from "../rules/tasks/task-moves.ts";
import type {
  DeliveryRecord,
  EventRecord,
  SigningSecretRecord,
  StageRecord,
  TaskRecord,
} from "../state/records.ts";
import type { World } from "../world/world.ts";
import type { WorldHolder } from "../world/world-holder.ts";
import type {
  deliveryLogQuery,
  endpointView,
  eventView,
  overviewView,
  secretView,
  taskHistory,
  taskSummary,
  tasksQuery,
} from "./inspection-routes.ts";
import {
  type DeliverySummary,
  type RequestView,
  toTime,
  toTimeOrNull,
  viewDeliverySummary,
  viewRequest,
} from "./views.ts";

export type Overview = Readonly<z.infer<typeof overviewView>>;
export type TaskSummary = Readonly<z.infer<typeof taskSummary>>;
export type TaskHistory = Readonly<z.infer<typeof taskHistory>>;
export type EventView = Readonly<z.infer<typeof eventView>>;
export type EndpointView = Readonly<z.infer<typeof endpointView>>;
export type SecretView = Readonly<z.infer<typeof secretView>>;
export type Page<Item> = {
  readonly data: Item[];
  readonly done: boolean;
  readonly iterator: string | null;
};

/** Looking at the mock, as its inspector page does. */
export interface InspectionControls {
  overview(): Overview;
  /** A page of tasks, newest first; 100 unless `limit` says otherwise. */
  tasks(query?: Partial<z.output<typeof tasksQuery>>): Page<TaskSummary>;
  /** @throws ServiceError NOT_FOUND */
  taskHistory(taskId: string): TaskHistory;
  /** A page of deliveries, newest first; 100 unless `limit` says otherwise. */
  deliveryLog(query?: Partial<z.output<typeof deliveryLogQuery>>): Page<DeliverySummary>;
  /** A page of the request journal, newest first; 100 unless `limit` says otherwise. */
  requestLog(query?: { readonly limit?: number; readonly before?: string | undefined }): Page<RequestView>;
  /** @throws ServiceError NOT_FOUND, also for an event that no endpoint wanted */
  event(eventId: string): EventView;
  endpoints(): EndpointView[];
  /** @throws ServiceError NOT_FOUND */
  endpointSecrets(endpointId: string): SecretView[];
}

const upcomingMax = 10;

export function createInspectionControls(worlds: WorldHolder): InspectionControls {
  return {
    overview() {
      const { state } = worlds.current;
      const tasks = { RUNNING: 0, COMPLETED: 0, FAILED: 0 };
      for (const { status } of state.tasks.values()) tasks[status]++;
      const deliveries = { pending: 0, paused: 0, succeeded: 0, failed: 0, cancelled: 0 };
      for (const { status } of state.deliveries.values()) deliveries[status]++;
      return {
        clients: state.clients.size,
        endpoints: state.endpoints.size,
        events: state.events.size,
        tasks,
        deliveries,
        upcoming: upcoming(worlds.current),
      };
    },
    tasks({ limit = 100, before, status, type, workspaceId } = {}) {
      const world = worlds.current;
      const matches = (task: TaskRecord) =>
        (status === undefined || task.status === status) &&
        (type === undefined || task.type === type) &&
        (workspaceId === undefined || task.workspaceId === workspaceId);
      return newestFirst(world.state.tasks, {
        limit,
        before,
        matches,
        view: (task) => summarise(world, task),
      });
    },
    taskHistory(taskId) {
      const world = worlds.current;
      const task = findTask(world, taskId);
      const upcoming = upcomingStages(world, task);
      return {
        ...summarise(world, task),
        clientId: task.clientId,
        errorMessage: task.errorMessage,
        subTasks: task.stages.map(viewStageHistory),
        stageEndsAt: toTimeOrNull(upcoming?.dueAtMs ?? null),
        stagesAhead: (upcoming?.stages ?? []).map(({ type, durationMs }) => ({
          subTaskType: type,
          durationMs,
        })),
        events: eventsAbout(world, taskId),
      };
    },
    deliveryLog({ limit = 100, before, status, event, endpointId } = {}) {
      const matches = (delivery: DeliveryRecord) =>
        (status === undefined || delivery.status === status) &&
        (event === undefined || delivery.eventName === event) &&
        (endpointId === undefined || delivery.endpointId === endpointId);
      const world = worlds.current;
      const view = (delivery: DeliveryRecord) => viewDeliverySummary(world, delivery);
      return newestFirst(world.state.deliveries, { limit, before, matches, view });
    },
    requestLog({ limit = 100, before } = {}) {
      const entries = worlds.current.journal.entries();
      const newer = entries.findIndex(({ sequence }) => sequence >= Number(before));
      const end = before === undefined || newer === -1 ? entries.length : newer;
      const start = Math.max(0, end - limit);
      const data = entries.slice(start, end).reverse().map(viewRequest);
      return { data, done: start === 0, iterator: start === 0 ? null : String(data.at(-1)?.sequence) };
    },
    event(eventId) {
      const world = worlds.current;
      const event = world.state.events.get(eventId);
      if (!event) throw new ServiceError("NOT_FOUND", `event "${eventId}" not found`);
      return {
        ...viewEventSummary(event),
        workspaceId: event.workspaceId,
        body: event.body,
        deliveries: deliveriesOf(world, new Set([eventId])).get(eventId) ?? [],
      };
    },
    endpoints() {
      const { state, clock } = worlds.current;
      return [...state.endpoints.values()].map(({ secrets, createdAtMs, updatedAtMs, ...endpoint }) => ({
        ...endpoint,
        workspace: state.workspaces.get(endpoint.workspaceId)?.name ?? "",
        createdAt: toTime(createdAtMs),
        updatedAt: toTime(updatedAtMs),
        secrets: secrets.map((secret) => viewSecretState(secret, clock.now())),
      }));
    },
    endpointSecrets(endpointId) {
      const { state, clock } = worlds.current;
      const endpoint = state.endpoints.get(endpointId);
      if (!endpoint) throw new ServiceError("NOT_FOUND", "Webhook endpoint not found");
      return endpoint.secrets.map((record) => ({
        secret: record.secret,
        ...viewSecretState(record, clock.now()),
      }));
    },
  };
}

/** Ids are in order of creation, so the oldest one given out says where to go on. */
function newestFirst<Item extends { readonly id: string }, View>(
  items: ReadonlyMap<string, Item>,
  options: {
    readonly limit: number;
    readonly before: string | undefined;
    readonly matches: (item: Item) => boolean;
    readonly view: (item: Item) => View;
  },
): Page<View> {
  const found: Item[] = [];
  const all = [...items.values()];
  for (let index = all.length - 1; index >= 0 && found.length <= options.limit; index--) {
    const item = all[index] as Item;
    if ((options.before === undefined || item.id < options.before) && options.matches(item)) found.push(item);
  }
  const data = found.slice(0, options.limit);
  const done = found.length <= options.limit;
  return { data: data.map(options.view), done, iterator: done ? null : (data.at(-1)?.id ?? null) };
}

function upcoming(world: World): Overview["upcoming"] {
  const { deliveries, progress, tasks } = world.state;
  const due: (Omit<Overview["upcoming"][number], "at"> & { readonly atMs: number })[] = [];
  for (const { id, eventName, attempts, status, nextAttemptAtMs } of deliveries.values()) {
    if (status !== "pending" || nextAttemptAtMs === null) continue;
    due.push({ kind: "attempt", id, name: eventName, attempt: attempts.length + 1, atMs: nextAttemptAtMs });
  }
  for (const place of progress.values()) {
    const { taskId: id } = place;
    const stage = tasks.get(id)?.stages.findLast(({ status }) => status === "RUNNING");
    if (stage)
      due.push({ kind: "stage", id, name: stage.type, attempt: null, atMs: dueAtMsOf(world, place) });
  }
  due.sort((a, b) => a.atMs - b.atMs);
  return due.slice(0, upcomingMax).map(({ atMs, ...entry }) => ({ ...entry, at: toTime(atMs) }));
}

function summarise(world: World, task: TaskRecord): TaskSummary {
  return {
    taskId: task.id,
    taskType: task.type,
    status: task.status,
    client: world.state.clients.get(task.clientId)?.name ?? "",
    workspaceId: task.workspaceId,
    startedAt: toTime(task.startedAtMs),
    completedAt: toTimeOrNull(task.completedAtMs),
    stagesDone: task.stages.filter(({ status }) => status !== "RUNNING").length,
    stages: task.stages.length + (upcomingStages(world, task)?.stages.length ?? 0),
  };
}

function viewStageHistory(stage: StageRecord): TaskHistory["subTasks"][number] {
  return {
    subTaskId: stage.id,
    subTaskType: stage.type,
    status: stage.status,
    startedAt: toTime(stage.startedAtMs),
    completedAt: toTimeOrNull(stage.completedAtMs),
    errorMessage: stage.errorMessage,
  };
}

function eventsAbout(world: World, subject: string): TaskHistory["events"] {
  const events = [...world.state.events.values()].filter((event) => event.subject === subject);
  const deliveries = deliveriesOf(world, new Set(events.map(({ id }) => id)));
  return events.map((event) => ({
    ...viewEventSummary(event),
    deliveries: deliveries.get(event.id) ?? [],
  }));
}

function deliveriesOf(world: World, eventIds: ReadonlySet<string>): Map<string, DeliverySummary[]> {
  const found = new Map<string, DeliverySummary[]>();
  for (const delivery of world.state.deliveries.values()) {
    if (!eventIds.has(delivery.eventId)) continue;
    const list = found.get(delivery.eventId) ?? [];
    list.push(viewDeliverySummary(world, delivery));
    found.set(delivery.eventId, list);
  }
  return found;
}

function viewEventSummary({ id, name, occurredAtMs }: EventRecord) {
  return { eventId: id, name, occurredAt: toTime(occurredAtMs) };
}

function viewSecretState(
  { expiresAtMs }: SigningSecretRecord,
  nowMs: number,
): EndpointView["secrets"][number] {
  const state = expiresAtMs === null ? "current" : expiresAtMs > nowMs ? "grace" : "expired";
  return { state, expiresAt: toTimeOrNull(expiresAtMs) };
}
