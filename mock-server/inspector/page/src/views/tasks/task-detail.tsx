import type { TaskDetail as Task } from "@workspace-tasks/mock-server/control";
import { hashOf } from "@workspace-tasks/page-parts/address.ts";
import { ActionButton, Actions } from "@workspace-tasks/page-parts/controls.tsx";
import { useNowMs, useResource } from "@workspace-tasks/page-parts/state.ts";
import { Absent } from "@workspace-tasks/page-parts/status.tsx";
import { formatDuration, formatTime } from "@workspace-tasks/page-parts/text.ts";
import { Copied, Facts, Time } from "@workspace-tasks/page-parts/values.tsx";
import { useState } from "preact/hooks";
import {
  DeliveryBadge,
  describeNext,
  EndpointName,
  LastResponse,
  StatusBadge,
} from "../../parts/delivery-state.tsx";
import { control } from "../../state/mock.ts";

export function TaskDetail({ id }: { readonly id: string }) {
  const nowMs = useNowMs();
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
        <Stages task={task} />
        {task.status === "RUNNING" && <MoveStage task={task} />}
      </section>
      <section class="panel">
        <h4>Events</h4>
        {task.events.length === 0 && <p class="muted">No endpoint subscribes to events of this task.</p>}
        <ul class="items task-events">
          {task.events.map((event) => (
            <li key={event.eventId}>
              <span class="muted mono">
                <Time at={event.occurredAt} />
              </span>
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

/** Stages that have started, then those that are planned. */
function Stages({ task: { subTasks, stagesAhead, stageEndsAt } }: { readonly task: Task }) {
  const nowMs = useNowMs();
  let startMs = Date.parse(stageEndsAt ?? "");
  const planned = stageEndsAt === null ? [] : stagesAhead;
  return (
    <ul class="items" aria-label="Stages">
      {subTasks.map(({ subTaskId, subTaskType, status, startedAt, completedAt }) => {
        const endMs = completedAt === null ? nowMs : Date.parse(completedAt);
        const took = formatDuration(Math.max(0, endMs - Date.parse(startedAt)));
        return (
          <li key={subTaskId}>
            <StatusBadge status={status} /> <span>{subTaskType}</span>
            <span class="at-end muted">{completedAt === null ? `${took} so far` : took}</span>
          </li>
        );
      })}
      {planned.map(({ subTaskType, durationMs }, index) => {
        const untilMs = startMs - nowMs;
        startMs += durationMs;
        return (
          <li key={`planned ${index}`}>
            <StatusBadge status="planned" /> <span>{subTaskType}</span>
            <span class="at-end muted" title={`for ${formatDuration(durationMs)}`}>
              in {formatDuration(Math.max(0, untilMs))}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
