import { defineOperation } from "../call/operation.ts";
import {
  type TaskStatus as KnownTaskStatus,
  ListTasksDocument,
  type ListTasksQuery,
} from "../generated/operations.ts";
import type * as schema from "../generated/schema-types.ts";
import type { OpenUnion } from "../open-union.ts";
import { identifier } from "../validation/check-input.ts";
import type { Check } from "../validation/schema.ts";
import type { Override, PickSelected } from "./selected.ts";

type RawWorkspaceUser = Extract<NonNullable<ListTasksQuery["me"]>, { readonly __typename: "WorkspaceUser" }>;
/** A task as it comes over the wire. */
export type RawTask = RawWorkspaceUser["workspace"]["tasks"][number];

/** `RUNNING`, `COMPLETED`, `FAILED`, or a status added later. @see interface §3 */
export type TaskStatus = OpenUnion<KnownTaskStatus>;

/** One stage of a task; `type` is free text, and an unrecognised stage is informational. @see interface §6 */
export type SubTask = Override<schema.SubTask, { readonly status: TaskStatus }>;

export type TaskTaxPrepResult = { readonly __typename: "TaskTaxPrepResult" } & schema.TaskTaxPrepResult;
export type TaskUnknownResult = { readonly __typename: "TaskUnknownResult" } & schema.TaskUnknownResult;
/** Compare `__typename`; kinds of result that are added later arrive as `TaskUnknownResult`. */
export type TaskResult = TaskTaxPrepResult | TaskUnknownResult;

/** A task with its stages and its result. Its fields lie beyond the interface (documented). @see interface §3 */
export type Task = Override<
  schema.Task,
  {
    readonly status: TaskStatus;
    readonly subTasks: readonly SubTask[];
    readonly result: TaskResult;
    readonly triggeredBy: PickSelected<schema.UserShortDetails, NonNullable<RawTask["triggeredBy"]>> | null;
  }
>;

export const listTasksOperation = defineOperation("ListTasks", ListTasksDocument);

// Only typed as the statuses of today: one that the service adds later can be asked for as well.
export const taskStatus = identifier as Check<KnownTaskStatus>;

/** Reads a task off the wire; a kind of result that this version does not know becomes the fallback kind. */
export function readTask(raw: RawTask): Task {
  const known =
    raw.result.__typename === "TaskTaxPrepResult" || raw.result.__typename === "TaskUnknownResult";
  return known
    ? raw
    : { ...(raw as Task), result: { __typename: "TaskUnknownResult", taskType: (raw as Task).type } };
}
