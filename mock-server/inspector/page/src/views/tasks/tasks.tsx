import type { ListedTask } from "@workspace-tasks/mock-server/control";
import { defaultSettings } from "@workspace-tasks/mock-server/control";
import { ActionButton, Actions, Select } from "@workspace-tasks/page-parts/controls.tsx";
import { type Column, column, ListView, timeColumn, usePages } from "@workspace-tasks/page-parts/lists.tsx";
import { goTo } from "@workspace-tasks/page-parts/route.ts";
import { useNowMs } from "@workspace-tasks/page-parts/state.ts";
import { plural, shortId } from "@workspace-tasks/page-parts/text.ts";
import { useState } from "preact/hooks";
import type { ViewProps } from "../../app/views.ts";
import { StatusBadge } from "../../parts/delivery-state.tsx";
import { control } from "../../state/mock.ts";
import { TaskDetail } from "./task-detail.tsx";

const taskTypes = Object.keys(defaultSettings.tasks.plans).filter((type) => type !== "*");
const statuses: readonly ListedTask["status"][] = ["RUNNING", "COMPLETED", "FAILED"];

const columnsOf = (rows: readonly ListedTask[], nowMs: number): readonly Column<ListedTask>[] => [
  timeColumn("started", rows, ({ startedAt }) => startedAt, nowMs),
  column("type", ["minmax(110px, 1fr)", "minmax(90px, 1fr)", "minmax(0, 1fr)"], ({ taskType }) => taskType),
  column("client", ["minmax(110px, 1.2fr)", "minmax(80px, 1fr)", "minmax(0, 0.9fr)"], ({ client }) => client),
  column("id", ["84px", "84px", null], ({ taskId }) => <span class="mono">{shortId(taskId)}</span>, {
    class: "muted",
  }),
  column("status", ["102px", "102px", "88px"], ({ status }) => <StatusBadge status={status} />, {
    value: ({ status }) => status,
  }),
  column("stages", ["62px", null, null], stagesOf, { class: "muted" }),
  column(
    "rejected",
    ["64px", "64px", "60px"],
    ({ rejectedDeliveries: count }) =>
      count === 0 ? (
        ""
      ) : (
        <span class="badge tone-bad" title={`${plural(count, "delivery", "deliveries")} rejected`}>
          {count}
        </span>
      ),
    { value: ({ rejectedDeliveries }) => rejectedDeliveries },
  ),
];

const stagesOf = ({ stagesDone, stages }: ListedTask) =>
  stages === 0 ? "none" : `${stagesDone} of ${stages}`;

export function TasksView({ id, filter }: ViewProps) {
  const nowMs = useNowMs();
  const query = {
    status: statuses.find((known) => known === filter["status"]),
    type: filter["type"] || undefined,
    text: filter["text"]?.trim() || undefined,
  };
  const list = usePages(`tasks ${JSON.stringify(query)}`, ["task", "stage", "clock", "delivery"], (page) =>
    control.listTasks({ ...page, ...query }),
  );
  return (
    <ListView
      view="tasks"
      id={id}
      filter={filter}
      fields={[
        { name: "text", label: "tasks that contain", placeholder: "id, type, client, error" },
        { name: "status", label: "status", options: statuses },
        { name: "type", label: "type", options: taskTypes },
      ]}
      actions={<StartTask />}
      list={list}
      keyOf={({ taskId }) => taskId}
      columns={columnsOf(list.rows, nowMs)}
      nothing="No task. Start one above, or through the API."
      detail={(taskId) => <TaskDetail key={taskId} id={taskId} />}
    />
  );
}

function StartTask() {
  const [taskType, setTaskType] = useState("TAX_PREP");
  const start = (progression: "timed" | "manual") => async () => {
    const { taskId } = await control.startTask({ taskType, progression });
    goTo("tasks", taskId);
  };
  return (
    <Actions>
      <Select label="type of the new task" value={taskType} options={taskTypes} onSelect={setTaskType} />
      <ActionButton label="Start task" onRun={start("timed")} class="primary" />
      <ActionButton label="Start manual task" onRun={start("manual")} />
    </Actions>
  );
}
