import { useState } from "preact/hooks";
import { hashOf } from "../address.ts";
import { formatDuration, formatTime, plural } from "../format.ts";
import type { TaskHistory } from "../nouns.ts";
import { ActionButton, useAction } from "../parts/action.tsx";
import { Mark, toneOf } from "../parts/mark.tsx";
import { type Span, Timeline } from "../parts/timeline.tsx";
import { ask, useResource } from "../resource.ts";

type Props = { readonly id: string; readonly nowMs: number };

export function TaskDetail({ id, nowMs }: Props) {
  const task = useResource<TaskHistory>(`/tasks/${encodeURIComponent(id)}/history`, [
    "task",
    "stage",
    "clock",
    "delivery",
  ]);
  if (task === undefined) return null;
  if (task === null) return <div class="panel nothing">There is no such task.</div>;
  return (
    <>
      <section class="panel">
        <div class="head">
          <h3>{task.taskType}</h3>
          <Mark status={task.status} />
        </div>
        <Facts task={task} />
        <Moves task={task} />
      </section>
      <section class="panel">
        <h4>Stages</h4>
        {task.subTasks.length === 0 && <p class="muted">No stage has started.</p>}
        <Timeline label="Stages" spans={stageSpans(task, nowMs)} nowMs={nowMs} />
        {task.status === "RUNNING" && <MoveStage task={task} />}
      </section>
      <section class="panel">
        <h4>Events it caused</h4>
        {task.events.length === 0 && <p class="muted">No endpoint wanted to hear of this task.</p>}
        <ul class="lines">
          {task.events.map((event) => (
            <li key={event.eventId}>
              <span class="muted mono">{formatTime(Date.parse(event.occurredAt)).slice(11)}</span>
              <span>{event.name}</span>
              <span class="end marks">
                {event.deliveries.map(({ id: deliveryId, status, attemptCount }) => (
                  <a
                    key={deliveryId}
                    href={hashOf("deliveries", deliveryId)}
                    title={`${status} after ${plural(attemptCount, "attempt")}`}
                  >
                    <Mark status={status} />
                  </a>
                ))}
              </span>
            </li>
          ))}
        </ul>
      </section>
    </>
  );
}

function Facts({ task }: { readonly task: TaskHistory }) {
  return (
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
          <dd>
            {formatTime(Date.parse(task.completedAt))}{" "}
            <span class="muted">
              after {formatDuration(Date.parse(task.completedAt) - Date.parse(task.startedAt))}
            </span>
          </dd>
        </>
      )}
      {task.errorMessage && (
        <>
          <dt>error</dt>
          <dd>{task.errorMessage}</dd>
        </>
      )}
    </dl>
  );
}

function Moves({ task }: { readonly task: TaskHistory }) {
  const action = useAction();
  const move =
    (status: string, more: object = {}) =>
    () =>
      ask("POST", `/tasks/${encodeURIComponent(task.taskId)}/status`, { status, ...more });
  const failure = { errorMessage: "failed by hand", withinRetryGrace: false };
  return (
    <>
      <div class="tools">
        {task.status === "RUNNING" && (
          <>
            <ActionButton action={action} onRun={move("COMPLETED")} class="primary">
              Complete
            </ActionButton>
            <ActionButton action={action} onRun={move("FAILED", failure)} class="danger">
              Fail
            </ActionButton>
          </>
        )}
        {task.status === "FAILED" && (
          <ActionButton action={action} onRun={move("RUNNING")}>
            Run again
          </ActionButton>
        )}
      </div>
      {action.notice}
    </>
  );
}

function MoveStage({ task }: { readonly task: TaskHistory }) {
  const running = task.subTasks.find(({ status }) => status === "RUNNING");
  const [typed, setTyped] = useState<string | null>(null);
  const action = useAction();
  const subTaskType = typed ?? running?.subTaskType ?? "review";
  const move = (status: string) => () =>
    ask("POST", `/tasks/${encodeURIComponent(task.taskId)}/subtasks`, { subTaskType, status }).then(() =>
      setTyped(null),
    );
  return (
    <>
      <div class="tools">
        <input
          aria-label="stage"
          value={subTaskType}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <ActionButton action={action} onRun={move("RUNNING")} label="start the stage">
          Start
        </ActionButton>
        <ActionButton action={action} onRun={move("COMPLETED")} label="finish the stage">
          Finish
        </ActionButton>
        <ActionButton action={action} onRun={move("FAILED")} class="danger" label="fail the stage">
          Fail
        </ActionButton>
      </div>
      {action.notice}
    </>
  );
}

/** Stages that have begun, and those that are planned in the pale colour of what has not happened yet. */
function stageSpans(task: TaskHistory, nowMs: number): Span[] {
  const spans: Span[] = task.subTasks.map((stage) => {
    const fromMs = Date.parse(stage.startedAt);
    const toMs = stage.completedAt === null ? null : Date.parse(stage.completedAt);
    return {
      key: stage.subTaskId,
      label: stage.subTaskType,
      tone: toneOf(stage.status),
      fromMs,
      toMs,
      note:
        toMs === null
          ? `${formatDuration(Math.max(0, nowMs - fromMs))} so far`
          : formatDuration(toMs - fromMs),
    };
  });
  if (task.stageEndsAt === null) return spans;
  let fromMs = Date.parse(task.stageEndsAt);
  for (const [index, { subTaskType, durationMs }] of task.stagesAhead.entries()) {
    const note = `in ${formatDuration(Math.max(0, fromMs - nowMs))}`;
    const key = `planned ${index}`;
    spans.push({ key, label: subTaskType, tone: "planned", fromMs, toMs: fromMs + durationMs, note });
    fromMs += durationMs;
  }
  return spans;
}
