import type { z } from "zod";
import type { CustomerError } from "../../sdk/events/index.ts";
import { ServiceError } from "../rules/service-error.ts";
import { planFor, planTasks } from "../rules/tasks/progression.ts";
import { findTask, moveStage, moveTask } from "../rules/tasks/task-moves.ts";
import { startTask } from "../rules/tasks/tasks.ts";
import { addToCatalog, isCatalogEvent } from "../rules/webhooks/catalog.ts";
import { emitCustomEvent } from "../rules/webhooks/events.ts";
import { syncDocuments } from "../rules/workspaces/client-documents.ts";
import { addClient } from "../rules/workspaces/clients.ts";
import type { TaskPlan } from "../state/task-plan.ts";
import type { World } from "../world/world.ts";
import type { WorldHolder } from "../world/world-holder.ts";
import type { catalogBody, documentsSyncedBody, sendEventBody } from "./event-routes.ts";
import type { moveStageBody, moveTaskBody, startTaskBody } from "./task-routes.ts";
import { type StageView, type TaskView, viewStage, viewTask } from "./views.ts";

export type NewTask = Readonly<z.input<typeof startTaskBody>>;
export type PlanChanges = Pick<NewTask, "progression" | "stages" | "outcome">;
export type TaskMove = Readonly<z.input<typeof moveTaskBody>>;
export type StageMove = Readonly<z.input<typeof moveStageBody>>;
export type DocumentsPulled = Readonly<z.input<typeof documentsSyncedBody>>;
export type CatalogAddition = Readonly<z.input<typeof catalogBody>>;
export type SentEvent = Readonly<z.input<typeof sendEventBody>>;

/** Tasks on command, and the events that follow or stand alone. */
export interface TaskControls {
  /** Starts a task; it is RUNNING from then on. A new client unless `clientId` names one. */
  startTask(input: NewTask): TaskView;
  /** Changes how tasks of this type move on from now on; `null`: as the settings say. */
  planTasks(taskType: string, changes: PlanChanges | null): void;
  /** @throws ServiceError NOT_FOUND */
  task(taskId: string): TaskView;
  /** @throws ServiceError NOT_FOUND, or CONFLICT for a move that does not exist */
  moveTask(taskId: string, move: TaskMove): TaskView;
  /** Starts or finishes a stage. @throws ServiceError NOT_FOUND, or CONFLICT while the task does not run */
  moveStage(taskId: string, move: StageMove): StageView;
  /**
   * Pulls documents from a connected system, which says so with `documents.synced`. Those already held are
   * left out and counted.
   * @throws ServiceError NOT_FOUND for an unknown connection or client
   */
  syncDocuments(pull: DocumentsPulled): { readonly clientId: string; readonly inputDocumentIds: string[] };
  /** Adds an event of the future; endpoints without `eventTypes` receive it from now on. */
  addToCatalog(addition: CatalogAddition): { readonly name: string };
  /** Sends an event of the catalog with any payload. @throws ServiceError NOT_FOUND for an unknown name */
  sendEvent(event: SentEvent): { readonly eventId: string };
}

export function createTaskControls(worlds: WorldHolder): TaskControls {
  return {
    startTask(input) {
      const world = worlds.current;
      const workspaceId =
        input.workspaceId ?? clientWorkspace(world, input.clientId) ?? worlds.seedData.workspaceId;
      const task = startTask(world, {
        workspaceId,
        clientId: input.clientId ?? makeUpClient(world, workspaceId),
        type: input.taskType,
        attributes: input.attributes,
        plan: planOf(world, input.taskType, input),
      });
      return viewTask(task);
    },
    planTasks(taskType, changes) {
      const world = worlds.current;
      planTasks(world, taskType, changes && planOf(world, taskType, changes));
    },
    task: (taskId) => viewTask(findTask(worlds.current, taskId)),
    moveTask(taskId, { customerError, ...move }) {
      return viewTask(
        moveTask(worlds.current, { taskId, ...move, customerError: toCustomerError(customerError) }),
      );
    },
    moveStage: (taskId, move) => viewStage(moveStage(worlds.current, { taskId, ...move })),
    syncDocuments(input) {
      const { clientId, documents } = syncDocuments(worlds.current, input);
      return { clientId, inputDocumentIds: documents.map(({ inputDocumentId }) => inputDocumentId) };
    },
    addToCatalog: (addition) => ({ name: addToCatalog(worlds.current, addition).name }),
    sendEvent({ workspaceId = worlds.seedData.workspaceId, name, payload }) {
      const world = worlds.current;
      if (!isCatalogEvent(world, name)) {
        throw new ServiceError(
          "NOT_FOUND",
          `event "${name}" is not in the catalog; add it with POST catalog`,
        );
      }
      if (!world.state.workspaces.has(workspaceId))
        throw new ServiceError("NOT_FOUND", "Workspace not found");
      return { eventId: emitCustomEvent(world, { workspaceId, name, payload }).id };
    },
  };
}

/** The plan of the task's type with what was said otherwise; `null` when nothing was. */
function planOf(world: World, taskType: string, changes: PlanChanges): TaskPlan | null {
  const { progression, stages, outcome } = changes;
  if (progression === undefined && stages === undefined && outcome === undefined) return null;
  const plan = planFor(world, taskType);
  return {
    mode: progression ?? plan.mode,
    stages: stages?.map(({ durationMs = 0, ...stage }) => ({ ...stage, durationMs })) ?? plan.stages,
    outcome: outcome ? { ...outcome, customerError: toCustomerError(outcome.customerError) } : plan.outcome,
  };
}

function toCustomerError(error: TaskMove["customerError"]): CustomerError | null | undefined {
  if (!error) return error;
  return { ...error, action: { ...error.action, connectionId: error.action.connectionId ?? null } };
}

function clientWorkspace(world: World, clientId: string | undefined): string | undefined {
  if (clientId === undefined) return undefined;
  const client = world.state.clients.get(clientId);
  if (!client) throw new ServiceError("NOT_FOUND", "Client not found");
  return client.workspaceId;
}

function makeUpClient(world: World, workspaceId: string): string {
  if (!world.state.workspaces.has(workspaceId)) throw new ServiceError("NOT_FOUND", "Workspace not found");
  const number = world.state.clients.size + 1;
  return addClient(world, workspaceId, {
    name: `Client ${number}`,
    externalId: `made-up-${number}`,
    returnType: "F1040",
    taxYear: new Date(world.clock.now()).getUTCFullYear() - 1,
  }).id;
}
