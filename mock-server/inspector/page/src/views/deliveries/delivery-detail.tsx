import { hashOf } from "../../address.ts";
import type { DeliveryDetail as Delivery } from "../../api-types.ts";
import { ActionButton, Actions } from "../../parts/controls/action.tsx";
import { DeliveryBadge } from "../../parts/status/delivery-state.tsx";
import { Absent } from "../../parts/status/waiting.tsx";
import { Copied, Facts } from "../../parts/values/facts.tsx";
import { control, useResource } from "../../state/resource.ts";
import { formatRelative, formatTime, shortId } from "../../text/format.ts";
import { Attempt } from "./attempt.tsx";
import "./delivery-detail.css";

interface Props {
  readonly id: string;
  readonly nowMs: number;
}

export function DeliveryDetail({ id, nowMs }: Props) {
  const delivery = useResource(`delivery ${id}`, ["delivery", "clock", "endpoint"], () =>
    control.getDelivery(id),
  );
  if (!delivery) return <Absent value={delivery} text="There is no delivery with this id." />;
  const { url, taskId, attempts } = delivery;
  return (
    <>
      <section class="panel">
        <div class="title-bar">
          <h3>{delivery.event}</h3>
          <DeliveryBadge delivery={delivery} />
          <Actions>
            <ActionButton
              label="Replay"
              onRun={() => control.replayDelivery(id)}
              shortcut="r"
              class="primary"
            />
          </Actions>
        </div>
        <Facts
          values={{
            "webhook-id": <Copied value={delivery.id} />,
            "event id": <Copied value={delivery.eventId} />,
            endpoint:
              url === null ? (
                `${shortId(delivery.endpointId)}, deleted`
              ) : (
                <a href={hashOf("endpoints", delivery.endpointId)}>{url}</a>
              ),
            client: delivery.client,
            [taskId ? "task" : "about"]: (
              <Copied value={delivery.subject} href={taskId ? hashOf("tasks", taskId) : undefined} />
            ),
          }}
        />
      </section>
      <section class="panel">
        <h4>Attempts</h4>
        {attempts.length === 0 && !delivery.nextAttemptAt && (
          <p class="muted">
            {delivery.status === "paused" ? "It waits until its endpoint resumes." : "None."}
          </p>
        )}
        <ol class="rail" aria-label="Attempts, newest first">
          <NextAttempt delivery={delivery} nowMs={nowMs} />
          {attempts
            .map((attempt, index) => (
              <Attempt
                key={attempt.number}
                attempt={attempt}
                before={attempts[index - 1]}
                last={index === attempts.length - 1}
                delivery={delivery}
                nowMs={nowMs}
              />
            ))
            .reverse()}
        </ol>
      </section>
    </>
  );
}

interface NextProps {
  readonly delivery: Delivery;
  readonly nowMs: number;
}

function NextAttempt({ delivery: { nextAttemptAt, nextTry, triesMax }, nowMs }: NextProps) {
  if (!nextAttemptAt) return null;
  return (
    <li class="tone-wait">
      <div class="attempt-title">
        <b>Next attempt</b> {formatRelative(Date.parse(nextAttemptAt), nowMs)}
        {nextTry !== null && (
          <span class="muted">
            try {nextTry} of {triesMax}
          </span>
        )}
        <span class="at-end muted mono">{formatTime(nextAttemptAt)}</span>
      </div>
    </li>
  );
}
