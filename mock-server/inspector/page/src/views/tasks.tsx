import { useState } from "preact/hooks";
import type { ViewProps } from "../app.tsx";
import { formatDuration, formatTime, shortId } from "../format.ts";
import type { ClockView, TaskHistory, TaskSummary } from "../nouns.ts";
import { ActionButton, useAction } from "../parts/action.tsx";
import { useNow } from "../parts/bar.tsx";
import { Mark } from "../parts/marks.tsx";
import { OlderButton } from "../parts/older-button.tsx";
import { usePages, withQuery } from "../parts/pages.ts";
import { type Span, Timeline } from "../parts/timeline.tsx";
import { WindowedRows } from "../parts/windowed-rows.tsx";
import { ask, useResource } from "../resource.ts";
import { goTo, hashOf } from "../route.ts";

const nouns = ["task", "stage", "clock"];
const taskTypes = ["TAX_PREP", "BINDER", "TAX_REVIEW", "TAX_ADVISOR", "TAX_PREP_LITE"];

export function TasksView({ id }: ViewProps) {
  const [status, setStatus] = useState("");
  const list = usePages<TaskSummary>(withQuery("/tasks", { status }), ({ taskId }) => taskId, nouns);
  return (
    <>
      <div class="head">
        <h2>Tasks</h2>
        <div class="tools">
          <select
            data-filter
            aria-label="status"
            value={status}
            onChange={(event) => setStatus(event.currentTarget.value)}
          >
            <option value="">every status</option>
            <option>RUNNING</option>
            <option>COMPLETED</option>
            <option>FAILED</option>
          </select>
        </div>
        <StartTask />
      </div>
      <div class="split">
        <WindowedRows
          label="Tasks, newest first"
          rows={list.rows}
          keyOf={({ taskId }) => taskId}
          columns="minmax(120px, 1.2fr) minmax(90px, 1fr) 96px 84px"
          header={
            <>
              <span>type</span>
              <span>client</span>
              <span>status</span>
              <span>stages</span>
            </>
          }
          draw={(task) => (
            <>
              <span>{task.taskType}</span>
              <span>{task.client}</span>
              <span>
                <Mark status={task.status} />
              </span>
              <span class="muted">
                {task.stagesDone} of {task.stages}
              </span>
            </>
          )}
          selected={id}
          onSelect={(key) => goTo("tasks", key)}
          nothing={list.loading ? "Loading …" : "No task. Start one above, or through the API."}
          footer={<OlderButton list={list} />}
        />
        <div class="detail">{id && <TaskDetail id={id} />}</div>
      </div>
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

function TaskDetail({ id }: { readonly id: string }) {
  const task = useResource<TaskHistory>(`/tasks/${encodeURIComponent(id)}/history`, [...nouns, "delivery"]);
  const clock = useResource<ClockView>("/clock", ["clock", "task", "stage"]);
  const nowMs = useNow(clock);
  const action = useAction();
  if (!task) return <div class="nothing">No such task.</div>;
  const move =
    (status: string, more: object = {}) =>
    () =>
      ask("POST", `/tasks/${encodeURIComponent(id)}/status`, { status, ...more });
  return (
    <>
      <section class="panel">
        <div class="head">
          <h2>{task.taskType}</h2>
          <Mark status={task.status} />
        </div>
        <dl class="facts">
          <dt>id</dt>
          <dd class="mono">{task.taskId}</dd>
          <dt>client</dt>
          <dd>{task.client}</dd>
          <dt>started</dt>
          <dd>{formatTime(Date.parse(task.startedAt))}</dd>
          {task.completedAt && (
            <>
              <dt>ended</dt>
              <dd>{formatTime(Date.parse(task.completedAt))}</dd>
            </>
          )}
          {task.errorMessage && (
            <>
              <dt>error</dt>
              <dd>{task.errorMessage}</dd>
            </>
          )}
        </dl>
        <div class="tools">
          {task.status === "RUNNING" ? (
            <>
              <ActionButton action={action} onRun={move("COMPLETED")}>
                Complete
              </ActionButton>
              <ActionButton
                action={action}
                onRun={move("FAILED", { errorMessage: "failed by hand", withinRetryGrace: false })}
                class="danger"
              >
                Fail
              </ActionButton>
            </>
          ) : (
            task.status === "FAILED" && (
              <ActionButton action={action} onRun={move("RUNNING")}>
                Run again
              </ActionButton>
            )
          )}
        </div>
        {action.notice}
      </section>
      <section class="panel">
        <h3>Stages</h3>
        {task.subTasks.length === 0 && <span class="muted">No stage has started.</span>}
        <Timeline label="Stages" spans={task.subTasks.map((stage) => toSpan(stage, nowMs))} nowMs={nowMs} />
      </section>
      <section class="panel">
        <h3>Events</h3>
        {task.events.length === 0 && <span class="muted">No endpoint wanted to hear of this task.</span>}
        {task.events.map((event) => (
          <div key={event.eventId}>
            <div>
              {event.name} <span class="muted">{formatTime(Date.parse(event.occurredAt))}</span>
            </div>
            {event.deliveries.map((delivery) => (
              <div key={delivery.id}>
                <a href={hashOf("deliveries", delivery.id)}>{shortId(delivery.id)}</a>{" "}
                <Mark status={delivery.status} />{" "}
                <span class="muted">
                  {delivery.attemptCount} {delivery.attemptCount === 1 ? "attempt" : "attempts"}
                </span>
              </div>
            ))}
          </div>
        ))}
      </section>
    </>
  );
}

function toSpan(stage: TaskHistory["subTasks"][number], nowMs: number): Span {
  const fromMs = Date.parse(stage.startedAt);
  const toMs = stage.completedAt === null ? null : Date.parse(stage.completedAt);
  return {
    key: stage.subTaskId,
    label: stage.subTaskType,
    tone: stage.status === "COMPLETED" ? "good" : stage.status === "FAILED" ? "bad" : "run",
    fromMs,
    toMs,
    note:
      toMs === null
        ? `running, ${formatDuration(Math.max(0, nowMs - fromMs))}`
        : formatDuration(toMs - fromMs),
  };
}
