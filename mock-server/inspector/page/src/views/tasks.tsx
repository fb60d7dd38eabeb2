import { useState } from "preact/hooks";
import type { ViewProps } from "../app.tsx";
import { formatTime } from "../format.ts";
import type { TaskSummary } from "../nouns.ts";
import { ActionButton, useAction } from "../parts/action.tsx";
import { Mark } from "../parts/mark.tsx";
import { OlderButton } from "../parts/older-button.tsx";
import { usePages } from "../parts/pages.ts";
import { Split } from "../parts/split.tsx";
import { WindowedRows } from "../parts/windowed-rows.tsx";
import { ask } from "../resource.ts";
import { goTo } from "../route.ts";
import { TaskDetail } from "./task-detail.tsx";

const taskTypes = ["TAX_PREP", "BINDER", "TAX_REVIEW", "TAX_ADVISOR", "TAX_PREP_LITE"];

export function TasksView({ id, filter, nowMs }: ViewProps) {
  const status = filter["status"] ?? "";
  const list = usePages<TaskSummary>("/tasks", { status }, ["task", "stage", "clock"]);
  return (
    <>
      <div class="head">
        <h2>Tasks</h2>
        <div class="tools">
          <select
            data-filter
            aria-label="status"
            value={status}
            onChange={(event) => goTo("tasks", id, { status: event.currentTarget.value })}
          >
            <option value="">every status</option>
            <option>RUNNING</option>
            <option>COMPLETED</option>
            <option>FAILED</option>
          </select>
        </div>
        <StartTask />
      </div>
      <Split
        of="tasks"
        onClose={() => goTo("tasks", null, filter)}
        list={
          <WindowedRows
            label="Tasks, newest first"
            rows={list.rows}
            keyOf={({ taskId }) => taskId}
            columns="minmax(110px, 1fr) minmax(110px, 1.2fr) 102px 62px 66px"
            narrowColumns="minmax(0, 1fr) minmax(0, 1.1fr) 102px"
            header={
              <>
                <span>type</span>
                <span>client</span>
                <span>status</span>
                <span class="wide">stages</span>
                <span class="wide">started</span>
              </>
            }
            draw={(task) => (
              <>
                <span>{task.taskType}</span>
                <span>{task.client}</span>
                <span>
                  <Mark status={task.status} />
                </span>
                <span class="muted wide">
                  {task.stagesDone} of {task.stages}
                </span>
                <span class="muted wide">{formatTime(Date.parse(task.startedAt)).slice(11)}</span>
              </>
            )}
            selected={id}
            onSelect={(key) => goTo("tasks", key, filter)}
            nothing={list.loading ? "Loading …" : "No task. Start one above, or through the API."}
            footer={<OlderButton list={list} />}
          />
        }
        detail={id ? <TaskDetail id={id} nowMs={nowMs} /> : null}
      />
    </>
  );
}

function StartTask() {
  const [taskType, setTaskType] = useState("TAX_PREP");
  const action = useAction();
  const start = (progression: string) => async () => {
    const { taskId } = await ask<{ taskId: string }>("POST", "/tasks", { taskType, progression });
    goTo("tasks", taskId);
  };
  return (
    <div class="tools">
      <select
        aria-label="type of the new task"
        value={taskType}
        onChange={(event) => setTaskType(event.currentTarget.value)}
      >
        {taskTypes.map((type) => (
          <option key={type}>{type}</option>
        ))}
      </select>
      <ActionButton action={action} onRun={start("timed")} class="primary">
        Start task
      </ActionButton>
      <ActionButton action={action} onRun={start("manual")}>
        Start, move by hand
      </ActionButton>
      {action.notice}
    </div>
  );
}
