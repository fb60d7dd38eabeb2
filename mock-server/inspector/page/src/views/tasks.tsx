import {
  defaultSettings,
  type ListedTask,
  type TaskDetail as Task,
} from "@workspace-tasks/mock-server/control";
import { ActionButton, Actions, Select } from "@workspace-tasks/page-parts/controls.tsx";
import { type Column, column, ListView, timeColumn, usePages } from "@workspace-tasks/page-parts/lists.tsx";
import { goTo, hashOf } from "@workspace-tasks/page-parts/route.ts";
import { useNowMs, useResource } from "@workspace-tasks/page-parts/state.ts";
import { formatDuration, formatTime, plural, shortId } from "@workspace-tasks/page-parts/text.ts";
import { Absent, Copied, Facts, Time } from "@workspace-tasks/page-parts/values.tsx";
import { useState } from "preact/hooks";
import { control, type ViewProps } from "../mock.ts";
import { DeliveryBadge, describeNext, EndpointName, LastResponse, StatusBadge } from "../parts.tsx";

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
