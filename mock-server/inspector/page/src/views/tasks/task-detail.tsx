import type { TaskDetail as Task } from "@workspace-tasks/mock-server/control";
import { useState } from "preact/hooks";
import { hashOf } from "../../address.ts";
import { ActionButton, Actions } from "../../parts/controls/action.tsx";
import {
  DeliveryBadge,
  describeNext,
  EndpointName,
  LastResponse,
} from "../../parts/status/delivery-state.tsx";
import { StatusBadge, toneOf } from "../../parts/status/status.tsx";
import { type Span, Timeline } from "../../parts/status/timeline.tsx";
import { Absent } from "../../parts/status/waiting.tsx";
import { Copied, Facts } from "../../parts/values/facts.tsx";
import { control, useResource } from "../../state/resource.ts";
import { formatDuration, formatTime, formatTimeNear } from "../../text/format.ts";
import "./task-detail.css";

interface Props {
  readonly id: string;
  readonly nowMs: number;
}

export function TaskDetail({ id, nowMs }: Props) {
  const task = useResource(`task ${id}`, ["task", "stage", "clock", "delivery"], () => control.getTask(id));
  if (!task) return <Absent value={task} text="There is no task with this id." />;
  return (
    <>
      <section class="panel">
        <div class="title-bar">
          <h3>{task.taskType}</h3>
          <StatusBadge status={task.status} />
        </div>
        <Facts
          values={{
            id: <Copied value={task.taskId} />,
            client: task.client,
            started: formatTime(task.startedAt),
            ended: task.completedAt && (
              <>
                {formatTime(task.completedAt)}{" "}
                <span class="muted">
                  after {formatDuration(Date.parse(task.completedAt) - Date.parse(task.startedAt))}
                </span>
              </>
            ),
            error: task.errorMessage,
          }}
        />
        <Moves task={task} />
      </section>
      <section class="panel">
        <h4>Stages</h4>
        {task.subTasks.length === 0 && <p class="muted">No stage has started.</p>}
        <Timeline label="Stages" spans={stageSpans(task, nowMs)} nowMs={nowMs} />
        {task.status === "RUNNING" && <MoveStage task={task} />}
      </section>
      <section class="panel">
        <h4>Events</h4>
        {task.events.length === 0 && <p class="muted">No endpoint subscribes to events of this task.</p>}
        <ul class="items task-events">
          {task.events.map((event) => (
            <li key={event.eventId}>
              <span class="muted mono">{formatTimeNear(event.occurredAt, nowMs)}</span>
              <a href={hashOf("deliveries", null, { text: event.eventId })}>{event.name}</a>
              <span class="event-deliveries">
                {event.deliveries.map((delivery) => (
                  <a
                    key={delivery.id}
                    href={hashOf("deliveries", delivery.id)}
                    title={describeNext(delivery, nowMs) ?? undefined}
                  >
                    <EndpointName url={delivery.url} />
                    <LastResponse delivery={delivery} /> <DeliveryBadge delivery={delivery} />
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

function Moves({ task: { taskId, status } }: { readonly task: Task }) {
  const move =
    (to: Task["status"], more: object = {}) =>
    () =>
      control.setTaskStatus(taskId, { status: to, ...more });
  const failure = { errorMessage: "failed in the inspector", withinRetryGrace: false };
  return (
    <Actions>
      {status === "RUNNING" && (
        <>
          <ActionButton label="Complete" onRun={move("COMPLETED")} class="primary" />
          <ActionButton label="Fail" onRun={move("FAILED", failure)} class="toned tone-bad" />
        </>
      )}
      {status === "FAILED" && <ActionButton label="Run again" onRun={move("RUNNING")} />}
    </Actions>
  );
}

function MoveStage({ task }: { readonly task: Task }) {
  const running = task.subTasks.find(({ status }) => status === "RUNNING");
  const [typed, setTyped] = useState<string | null>(null);
  const subTaskType = typed ?? running?.subTaskType ?? "review";
  const move = (status: Task["status"]) => () =>
    control.setStageStatus(task.taskId, { subTaskType, status }).then(() => setTyped(null));
  return (
    <Actions>
      <input
        aria-label="stage"
        value={subTaskType}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      <ActionButton label="Start" onRun={move("RUNNING")} name="start the stage" />
      <ActionButton label="Finish" onRun={move("COMPLETED")} name="finish the stage" />
      <ActionButton label="Fail" onRun={move("FAILED")} class="toned tone-bad" name="fail the stage" />
    </Actions>
  );
}

/** Stages that have started, and planned ones in a paler colour. */
function stageSpans(task: Task, nowMs: number): Span[] {
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
