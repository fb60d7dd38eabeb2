import { useState } from "preact/hooks";
import { hashOf } from "../address.ts";
import type { DeliveryAttempt } from "../api-types.ts";
import { formatDuration, formatRelative, formatTime, formatTimeOfDay, shortId, toCurl } from "../format.ts";
import { ActionButton, useAction } from "../parts/action.tsx";
import { BodyText } from "../parts/body-text.tsx";
import { CopyButton } from "../parts/copy-button.tsx";
import { Fact, Facts } from "../parts/fact.tsx";
import { Headers } from "../parts/headers.tsx";
import { useKeys } from "../parts/keys.ts";
import { Notice } from "../parts/notice.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { TextBlock } from "../parts/text-block.tsx";
import { control, useResource } from "../resource.ts";
import "./delivery-detail.css";

interface Props {
  readonly id: string;
  readonly urls: ReadonlyMap<string, string>;
  readonly nowMs: number;
}

export function DeliveryDetail({ id, urls, nowMs }: Props) {
  const delivery = useResource(`delivery ${id}`, ["delivery", "clock"], () => control.getDelivery(id));
  const action = useAction();
  const replay = () => control.replayDelivery(id);
  useKeys({ r: () => !action.busy && void action.run(replay) });
  if (delivery === undefined) return null;
  if (delivery === null) return <div class="panel nothing">There is no delivery with this id.</div>;
  const url = urls.get(delivery.endpointId);
  return (
    <>
      <section class="panel">
        <div class="title-bar">
          <h3>{delivery.event}</h3>
          <StatusBadge status={delivery.status} />
          <ActionButton action={action} onRun={replay} class="primary">
            Replay
          </ActionButton>
        </div>
        {action.notice}
        <Facts>
          <Fact name="webhook-id" mono>
            {delivery.id}
          </Fact>
          <Fact name="endpoint">
            <a href={hashOf("endpoints", delivery.endpointId)}>{url ?? shortId(delivery.endpointId)}</a>
          </Fact>
          <Fact name="about" mono>
            {/^(sub)?task\./.test(delivery.event) ? (
              <a href={hashOf("tasks", delivery.subject)}>{delivery.subject}</a>
            ) : (
              delivery.subject
            )}
          </Fact>
        </Facts>
      </section>
      <section class="panel">
        <h4>Attempts</h4>
        <ol class="rail" aria-label="Attempts, newest first">
          {delivery.nextAttemptAt && (
            <li class="tone-wait">
              <div class="attempt-title">
                <b>Next attempt</b> {formatRelative(Date.parse(delivery.nextAttemptAt), nowMs)}
                <span class="at-end muted mono">{formatTime(delivery.nextAttemptAt)}</span>
              </div>
            </li>
          )}
          {delivery.attempts
            .map((attempt, index) => (
              <Attempt
                key={attempt.number}
                attempt={attempt}
                before={delivery.attempts[index - 1]}
                last={index === delivery.attempts.length - 1}
                url={url}
                deliveryId={delivery.id}
              />
            ))
            .reverse()}
        </ol>
      </section>
    </>
  );
}

interface AttemptProps {
  readonly attempt: DeliveryAttempt;
  readonly before: DeliveryAttempt | undefined;
  /** Only the last attempt is open at first. */
  readonly last: boolean;
  readonly url: string | undefined;
  readonly deliveryId: string;
}

function Attempt({ attempt, before, last, url, deliveryId }: AttemptProps) {
  const [toggled, setToggled] = useState<boolean | null>(null);
  const open = toggled ?? last;
  const startedAtMs = Date.parse(attempt.startedAt);
  const waitedMs = before ? startedAtMs - Date.parse(before.startedAt) : 0;
  return (
    <li class={attempt.error === null ? "tone-good" : "tone-bad"}>
      <button type="button" class="attempt-title" aria-expanded={open} onClick={() => setToggled(!open)}>
        <b>Attempt {attempt.number}</b>
        {attempt.kind !== "scheduled" && <StatusBadge status={attempt.kind} />}
        <StatusBadge status={attempt.error === null ? "succeeded" : "failed"} />
        <span>{attempt.status ?? "no response"}</span>
        <span class="at-end muted mono">
          {before && `+${formatDuration(waitedMs)} · `}
          {formatTimeOfDay(startedAtMs)}
        </span>
      </button>
      {open && <AttemptDetail attempt={attempt} url={url} deliveryId={deliveryId} />}
    </li>
  );
}

type DetailProps = Pick<AttemptProps, "attempt" | "url" | "deliveryId">;

function AttemptDetail({ attempt, url, deliveryId }: DetailProps) {
  const { requestHeaders, requestBody, responseHeaders, responseBody } = attempt;
  return (
    <div class="attempt">
      {attempt.error && <Notice tone="bad">{attempt.error}</Notice>}
      {attempt.faults.length > 0 && (
        <Notice tone="wait">Altered by a fault: {attempt.faults.join(", ")}</Notice>
      )}
      <div class="tools">
        <a class="button" href={hashOf("signatures", `${deliveryId}/${attempt.number}`)}>
          Check the signature
        </a>
        {url && <CopyButton label="Copy as curl" text={toCurl(url, requestHeaders, requestBody)} />}
      </div>
      <h4>Request</h4>
      <Headers headers={requestHeaders} />
      <BodyText label="Body" text={requestBody} />
      <h4>
        Response{" "}
        <span class="muted">
          {attempt.status === null ? "none" : `${attempt.status} in ${formatDuration(attempt.durationMs)}`}
        </span>
      </h4>
      {attempt.status !== null && <Headers headers={responseHeaders} />}
      {responseBody !== "" && <TextBlock>{responseBody}</TextBlock>}
    </div>
  );
}
