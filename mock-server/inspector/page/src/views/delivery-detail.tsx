import { useState } from "preact/hooks";
import { hashOf } from "../address.ts";
import { formatDuration, formatRelative, formatTime, shortId, toCurl } from "../format.ts";
import type { AttemptView, DeliveryView } from "../nouns.ts";
import { ActionButton, useAction } from "../parts/action.tsx";
import { BodyText } from "../parts/body-text.tsx";
import { CopyButton } from "../parts/copy-button.tsx";
import { useKey } from "../parts/keys.ts";
import { Mark } from "../parts/mark.tsx";
import { TextBlock } from "../parts/text-block.tsx";
import { ask, useResource } from "../resource.ts";

type Props = { readonly id: string; readonly urls: ReadonlyMap<string, string>; readonly nowMs: number };

export function DeliveryDetail({ id, urls, nowMs }: Props) {
  const delivery = useResource<DeliveryView>(`/deliveries/${encodeURIComponent(id)}`, ["delivery", "clock"]);
  const action = useAction();
  const replay = () => ask("POST", `/deliveries/${encodeURIComponent(id)}/replay`, {});
  useKey("r", () => !action.busy && void action.run(replay));
  if (delivery === undefined) return null;
  if (delivery === null) return <div class="panel nothing">There is no such delivery.</div>;
  const url = urls.get(delivery.endpointId);
  return (
    <>
      <section class="panel">
        <div class="head">
          <h3>{delivery.event}</h3>
          <Mark status={delivery.status} />
          <ActionButton action={action} onRun={replay} class="primary">
            Replay
          </ActionButton>
        </div>
        {action.notice}
        <dl class="facts">
          <dt>webhook-id</dt>
          <dd class="mono">{delivery.id}</dd>
          <dt>endpoint</dt>
          <dd>
            <a href={hashOf("endpoints", delivery.endpointId)}>{url ?? shortId(delivery.endpointId)}</a>
          </dd>
          <dt>about</dt>
          <dd class="mono">
            {/^(sub)?task\./.test(delivery.event) ? (
              <a href={hashOf("tasks", delivery.subject)}>{delivery.subject}</a>
            ) : (
              delivery.subject
            )}
          </dd>
        </dl>
      </section>
      <section class="panel">
        <h4>Attempts</h4>
        <ol class="rail" aria-label="Attempts, newest first">
          {delivery.nextAttemptAt && (
            <li class="wait">
              <div class="line">
                <b>Next attempt</b> {formatRelative(Date.parse(delivery.nextAttemptAt), nowMs)}
                <span class="end muted mono">{formatTime(Date.parse(delivery.nextAttemptAt))}</span>
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

type AttemptProps = {
  readonly attempt: AttemptView;
  readonly before: AttemptView | undefined;
  /** The last attempt lies open unless it is closed, the others lie closed unless they are opened. */
  readonly last: boolean;
  readonly url: string | undefined;
  readonly deliveryId: string;
};

function Attempt({ attempt, before, last, url, deliveryId }: AttemptProps) {
  const [asked, setAsked] = useState<boolean | null>(null);
  const open = asked ?? last;
  const startedAtMs = Date.parse(attempt.startedAt);
  const waitedMs = before ? startedAtMs - Date.parse(before.startedAt) : 0;
  return (
    <li class={attempt.error === null ? "good" : "bad"}>
      <button type="button" class="line" aria-expanded={open} onClick={() => setAsked(!open)}>
        <b>Attempt {attempt.number}</b>
        {attempt.kind !== "scheduled" && <Mark status={attempt.kind} />}
        <Mark status={attempt.error === null ? "succeeded" : "failed"} />
        <span>{attempt.status ?? "no answer"}</span>
        <span class="end muted mono">
          {before && `+${formatDuration(waitedMs)} · `}
          {formatTime(startedAtMs).slice(11)}
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
      {attempt.error && <p class="notice bad">{attempt.error}</p>}
      {attempt.faults.length > 0 && (
        <p class="notice wait">Altered by a fault: {attempt.faults.join(", ")}</p>
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
        Answer{" "}
        <span class="muted">
          {attempt.status === null ? "none" : `${attempt.status} in ${formatDuration(attempt.durationMs)}`}
        </span>
      </h4>
      {attempt.status !== null && <Headers headers={responseHeaders} />}
      {responseBody !== "" && <TextBlock>{responseBody}</TextBlock>}
    </div>
  );
}

function Headers({ headers }: { readonly headers: Readonly<Record<string, string>> }) {
  const entries = Object.entries(headers);
  if (entries.length === 0) return null;
  return (
    <dl class="headers mono">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
