import { hashOf } from "../../address.ts";
import type { DeliveryDetail as Delivery, DeliveryAttempt } from "../../api-types.ts";
import { ActionButton, useAction } from "../../parts/controls/action.tsx";
import { CopyButton } from "../../parts/controls/copy-button.tsx";
import { useKeys } from "../../parts/controls/keys.ts";
import { DeliveryBadge } from "../../parts/status/delivery-state.tsx";
import { WaitingPanel } from "../../parts/status/waiting.tsx";
import { Fact, Facts } from "../../parts/values/fact.tsx";
import { Id } from "../../parts/values/id.tsx";
import { hashOfAttempt } from "../../signature/shared-attempt.ts";
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
  const action = useAction();
  const replay = () => control.replayDelivery(id);
  useKeys({ r: () => !action.busy && void action.run(replay) });
  if (delivery === undefined) return <WaitingPanel />;
  if (delivery === null) return <div class="panel nothing">There is no delivery with this id.</div>;
  const { url, attempts } = delivery;
  const last = attempts.at(-1);
  return (
    <>
      <section class="panel">
        <div class="title-bar">
          <h3>{delivery.event}</h3>
          <DeliveryBadge delivery={delivery} />
          {last && (
            <CopyButton
              label="Copy link"
              name="Copy link with the bytes"
              text={() => linkTo(delivery, last)}
            />
          )}
          <ActionButton action={action} onRun={replay} class="primary">
            Replay
          </ActionButton>
        </div>
        {action.notice}
        <Facts>
          <Fact name="webhook-id">
            <Id id={delivery.id} />
          </Fact>
          <Fact name="event id">
            <Id id={delivery.eventId} />
          </Fact>
          <Fact name="endpoint">
            {url === null ? (
              `${shortId(delivery.endpointId)}, deleted`
            ) : (
              <a href={hashOf("endpoints", delivery.endpointId)}>{url}</a>
            )}
          </Fact>
          <Fact name="client">{delivery.client}</Fact>
          <Fact name={delivery.taskId ? "task" : "about"}>
            <Id id={delivery.subject} href={delivery.taskId ? hashOf("tasks", delivery.taskId) : undefined} />
          </Fact>
        </Facts>
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

/** On the address that the browser knows the page by. */
const linkTo = async (delivery: Delivery, attempt: DeliveryAttempt) =>
  `${location.origin}${location.pathname}${await hashOfAttempt(delivery, attempt)}`;

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
