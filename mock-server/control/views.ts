import type { z } from "zod";
import type { FiredFault } from "../state/fault.ts";
import type { JournalEntry } from "../state/journal-entry.ts";
import type {
  ApiKeyRecord,
  AttemptRecord,
  DeliveryRecord,
  MembershipRecord,
  StageRecord,
  TaskRecord,
  WorkspaceRecord,
} from "../state/records.ts";
import type { World } from "../world/world.ts";
import type { attemptView, deliverySummary, deliveryView } from "./delivery-routes.ts";
import type { apiKeyView, membershipView } from "./key-routes.ts";
import type { requestView } from "./request-routes.ts";
import type { workspaceView } from "./state-routes.ts";
import type { stageView, taskView } from "./task-routes.ts";

// How the records look from outside: times as text, secrets left out.

export type ApiKeyView = Readonly<z.infer<typeof apiKeyView>>;
export type AttemptView = Readonly<z.infer<typeof attemptView>>;
export type DeliverySummary = Readonly<z.infer<typeof deliverySummary>>;
export type DeliveryView = Readonly<z.infer<typeof deliveryView>>;
export type FiredFaultView = Omit<FiredFault, "atMs"> & { readonly at: string };
export type MembershipView = Readonly<z.infer<typeof membershipView>>;
export type RequestView = Readonly<z.infer<typeof requestView>>;
export type StageView = Readonly<z.infer<typeof stageView>>;
export type TaskView = Readonly<z.infer<typeof taskView>>;
export type WorkspaceView = Readonly<z.infer<typeof workspaceView>>;

export const toTime = (atMs: number) => new Date(atMs).toISOString();
export const toTimeOrNull = (atMs: number | null) => (atMs === null ? null : toTime(atMs));

export function viewApiKey(world: World, key: ApiKeyRecord): ApiKeyView {
  const membership = [...world.state.memberships.values()].find(
    ({ userId, workspaceId }) => userId === key.userId && workspaceId === key.workspaceId,
  );
  return {
    id: key.id,
    workspaceId: key.workspaceId,
    userId: key.userId,
    membershipId: membership?.id ?? null,
    role: membership?.role ?? null,
    access: key.access,
    createdAt: toTime(key.createdAtMs),
    expiresAt: toTime(key.expiresAtMs),
    revokedAt: toTimeOrNull(key.revokedAtMs),
  };
}

export function viewMembership({ id, userId, workspaceId, role }: MembershipRecord): MembershipView {
  return { id, userId, workspaceId, role };
}

export function viewWorkspace(workspace: WorkspaceRecord): WorkspaceView {
  const { id, name, slug, status, workspaceType, partnerId } = workspace;
  return { id, name, slug, status, workspaceType, partnerId };
}

export function viewStage(stage: StageRecord): StageView {
  return { subTaskId: stage.id, subTaskType: stage.type, status: stage.status };
}

export function viewTask(task: TaskRecord): TaskView {
  return {
    taskId: task.id,
    workspaceId: task.workspaceId,
    clientId: task.clientId,
    taskType: task.type,
    status: task.status,
    errorMessage: task.errorMessage,
    subTasks: task.stages.map(viewStage),
  };
}

export function viewDeliverySummary(world: World, delivery: DeliveryRecord): DeliverySummary {
  return { ...deliveryFields(world, delivery), attemptCount: delivery.attempts.length };
}

export function viewDelivery(world: World, delivery: DeliveryRecord): DeliveryView {
  return { ...deliveryFields(world, delivery), attempts: delivery.attempts.map(viewAttempt) };
}

const deliveryFields = (world: World, delivery: DeliveryRecord) => ({
  id: delivery.id,
  event: delivery.eventName,
  eventId: delivery.eventId,
  workspaceId: delivery.workspaceId,
  endpointId: delivery.endpointId,
  status: delivery.status,
  subject: world.state.events.get(delivery.eventId)?.subject ?? "",
  createdAt: toTime(delivery.createdAtMs),
  nextAttemptAt: toTimeOrNull(delivery.nextAttemptAtMs),
});

function viewAttempt({ startedAtMs, ...attempt }: AttemptRecord): AttemptView {
  return { ...attempt, startedAt: toTime(startedAtMs) };
}

export function viewRequest({ atMs, ...entry }: JournalEntry): RequestView {
  return {
    ...entry,
    at: toTime(atMs),
    operations: [...entry.operations],
    errors: [...entry.errors],
    faults: [...entry.faults],
  };
}

export function viewFiredFault({ atMs, ...entry }: FiredFault): FiredFaultView {
  return { ...entry, at: toTime(atMs) };
}
