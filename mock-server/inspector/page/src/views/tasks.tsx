import { useState } from "preact/hooks";
import type { TaskSummary } from "../api-types.ts";
import { formatTimeOfDay } from "../format.ts";
import { ActionButton, useAction } from "../parts/action.tsx";
import { ListView } from "../parts/list-view.tsx";
import { usePages } from "../parts/pages.ts";
import { Select } from "../parts/select.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { type Column, column } from "../parts/windowed-rows.tsx";
import { control } from "../resource.ts";
import { goTo } from "../route.ts";
import type { ViewProps } from "../view.ts";
import { TaskDetail } from "./task-detail.tsx";

const taskTypes = ["TAX_PREP", "BINDER", "TAX_REVIEW", "TAX_ADVISOR", "TAX_PREP_LITE"];
const statuses: readonly TaskSummary["status"][] = ["RUNNING", "COMPLETED", "FAILED"];

const columns: readonly Column<TaskSummary>[] = [
  column("type", ["minmax(110px, 1fr)", "minmax(0, 1fr)"], ({ taskType }) => taskType),
  column("client", ["minmax(110px, 1.2fr)", "minmax(0, 1.1fr)"], ({ client }) => client),
  column("status", ["102px", "102px"], ({ status }) => <StatusBadge status={status} />),
  column("stages", ["62px"], ({ stagesDone, stages }) => `${stagesDone} of ${stages}`, "muted"),
  column("started", ["66px"], ({ startedAt }) => formatTimeOfDay(startedAt), "muted"),
];

export function TasksView({ id, filter, nowMs }: ViewProps) {
  const status = statuses.find((known) => known === filter["status"]);
  const list = usePages(`tasks ${status}`, ["task", "stage", "clock"], (query) =>
    control.listTasks({ ...query, status }),
  );
  return (
    <ListView
      view="tasks"
      title="Tasks"
      id={id}
      filter={filter}
      fields={[{ name: "status", label: "status", options: statuses }]}
      actions={<StartTask />}
      list={list}
      keyOf={({ taskId }) => taskId}
      columns={columns}
      nothing="No task. Start one above, or through the API."
      detail={(taskId) => <TaskDetail id={taskId} nowMs={nowMs} />}
    />
  );
}

function StartTask() {
  const [taskType, setTaskType] = useState("TAX_PREP");
  const action = useAction();
  const start = (progression: "timed" | "manual") => async () => {
    const { taskId } = await control.startTask({ taskType, progression });
    goTo("tasks", taskId);
  };
  return (
    <div class="tools">
      <Select label="type of the new task" value={taskType} options={taskTypes} onSelect={setTaskType} />
      <ActionButton action={action} onRun={start("timed")} class="primary">
        Start task
      </ActionButton>
      <ActionButton action={action} onRun={start("manual")}>
        Start manual task
      </ActionButton>
      {action.notice}
    </div>
  );
}
