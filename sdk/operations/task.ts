import { nonEmptyString, type Schema } from "@workspace-tasks/kernel/schema.ts";
import { defineOperation } from "../call/operation.ts";
import type { TaskStatus as KnownTaskStatus, ListTasksQuery } from "../generated/operations.ts";
import type * as schema from "../generated/schema-types.ts";
import type { OpenUnion } from "../open-union.ts";
import type { Override, PickSelected } from "./picked-types.ts";

type RawWorkspaceUser = Extract<NonNullable<ListTasksQuery["me"]>, { readonly __typename: "WorkspaceUser" }>;
/** A task as the service sends it. */
export type RawTask = RawWorkspaceUser["workspace"]["tasks"][number];

/** `RUNNING`, `COMPLETED`, `FAILED`, or a status added later. @see interface §3 */
export type TaskStatus = OpenUnion<KnownTaskStatus>;

/** One stage of a task; `type` is free text, and an unrecognised stage is informational. @see interface §6 */
export interface SubTask extends Override<schema.SubTask, { readonly status: TaskStatus }> {}

export interface TaskTaxPrepResult extends schema.TaskTaxPrepResult {
  readonly __typename: "TaskTaxPrepResult";
}
export interface TaskUnknownResult extends schema.TaskUnknownResult {
  readonly __typename: "TaskUnknownResult";
}
/** Compare `__typename`; kinds of result that are added later become `TaskUnknownResult`. */
export type TaskResult = TaskTaxPrepResult | TaskUnknownResult;

export interface UserShortDetails
  extends PickSelected<schema.UserShortDetails, NonNullable<RawTask["triggeredBy"]>> {}

/** A task with its stages and its result. Its fields are beyond the interface (documented). @see interface §3 */
export interface Task
  extends Override<
    schema.Task,
    {
      readonly status: TaskStatus;
      readonly subTasks: readonly SubTask[];
      readonly result: TaskResult;
      readonly triggeredBy: UserShortDetails | null;
    }
  > {}

export const listTasks = defineOperation("ListTasks", "tasks.list");

// Typed as today's statuses for the generated variables; one that the service adds later is accepted as well.
export const taskStatus = nonEmptyString as Schema<KnownTaskStatus>;

/** The public form of a task; an unknown kind of result becomes `TaskUnknownResult`. */
export function readTask(raw: RawTask): Task {
  const isKnown =
    raw.result.__typename === "TaskTaxPrepResult" || raw.result.__typename === "TaskUnknownResult";
  if (isKnown) return raw;
  const task: Task = raw;
  return { ...task, result: { __typename: "TaskUnknownResult", taskType: task.type } };
}

/** The attribute of a task that names its work, as `ImportedClient.workId` does. */
export const workIdOf = ({ attributes }: Pick<Task, "attributes">): string | undefined =>
  attributes.find(({ name }) => name === "workId")?.value;
