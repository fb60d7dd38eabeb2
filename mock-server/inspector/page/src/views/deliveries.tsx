import { useEffect, useState } from "preact/hooks";
import type { ViewProps } from "../app.tsx";
import { formatBody, formatDuration, formatRelative, formatTime, shortId, toCurl } from "../format.ts";
import type { AttemptView, ClockView, DeliverySummary, DeliveryView, EndpointView } from "../nouns.ts";
import { ActionButton, useAction } from "../parts/action.tsx";
import { useNow } from "../parts/bar.tsx";
import { CopyButton, Mark } from "../parts/marks.tsx";
import { OlderButton } from "../parts/older-button.tsx";
import { usePages, withQuery } from "../parts/pages.ts";
import { type Span, Timeline } from "../parts/timeline.tsx";
import { WindowedRows } from "../parts/windowed-rows.tsx";
import { ask, useResource } from "../resource.ts";
import { goTo, hashOf } from "../route.ts";

const nouns = ["delivery", "clock"];
const states = ["pending", "paused", "succeeded", "failed", "cancelled"];

export function DeliveriesView({ id }: ViewProps) {
  const [status, setStatus] = useState("");
  const [event, setEvent] = useState("");
  const path = withQuery("/delivery-log", { status, event: event.trim() });
  const list = usePages<DeliverySummary>(path, (delivery) => delivery.id, nouns);
  return (
    <>
      <div class="head">
        <h2>Deliveries</h2>
        <div class="tools">
          <input
            data-filter
            aria-label="event name"
            placeholder="event, e.g. task.failed"
            value={event}
            onInput={(input) => setEvent(input.currentTarget.value)}
          />
          <select
            aria-label="state"
            value={status}
            onChange={(change) => setStatus(change.currentTarget.value)}
          >
            <option value="">every state</option>
            {states.map((state) => (
              <option key={state}>{state}</option>
            ))}
          </select>
        </div>
      </div>
      <div class="split">
        <WindowedRows
          label="Deliveries, newest first"
          rows={list.rows}
          keyOf={(delivery) => delivery.id}
          columns="minmax(130px, 1.3fr) 92px 74px minmax(90px, 1fr)"
          header={
            <>
              <span>event</span>
              <span>state</span>
              <span>attempts</span>
              <span>created</span>
            </>
          }
          draw={(delivery) => (
            <>
              <span>{delivery.event}</span>
              <span>
                <Mark status={delivery.status} />
              </span>
              <span>{delivery.attemptCount}</span>
              <span class="muted">{formatTime(Date.parse(delivery.createdAt)).slice(5)}</span>
            </>
          )}
          selected={id}
          onSelect={(key) => goTo("deliveries", key)}
          nothing={list.loading ? "Loading …" : "No delivery. Create an endpoint, then start a task."}
          footer={<OlderButton list={list} />}
        />
        <div class="detail">{id && <DeliveryDetail id={id} />}</div>
      </div>
    </>
  );
}

function DeliveryDetail({ id }: { readonly id: string }) {
  const delivery = useResource<DeliveryView>(`/deliveries/${encodeURIComponent(id)}`, nouns);
  const endpoints = useResource<{ data: EndpointView[] }>("/endpoints", ["endpoint"]);
  const clock = useResource<ClockView>("/clock", nouns);
  const nowMs = useNow(clock);
  const action = useAction();
  const replay = () => ask("POST", `/deliveries/${encodeURIComponent(id)}/replay`, {});
  useReplayKey(() => void action.run(replay));
  if (!delivery) return <div class="nothing">No such delivery.</div>;
  const url = endpoints?.data.find((endpoint) => endpoint.id === delivery.endpointId)?.url;
  const { nextAttemptAt } = delivery;
  return (
    <>
      <section class="panel">
        <div class="head">
          <h2>{delivery.event}</h2>
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
            <a href={hashOf("tasks", delivery.subject)}>{delivery.subject}</a>
          </dd>
          {nextAttemptAt && (
            <>
              <dt>next attempt</dt>
              <dd>
                {formatRelative(Date.parse(nextAttemptAt), nowMs)}{" "}
                <span class="muted">({formatTime(Date.parse(nextAttemptAt))})</span>
              </dd>
            </>
          )}
        </dl>
        <Timeline label="Attempts" spans={toSpans(delivery, nowMs)} nowMs={nowMs} />
      </section>
      {[...delivery.attempts].reverse().map((attempt, index) => (
        <Attempt
          key={attempt.number}
          attempt={attempt}
          url={url}
          open={index === 0}
          deliveryId={delivery.id}
        />
      ))}
    </>
  );
}

function useReplayKey(replay: () => void) {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const typing =
        event.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
      if (event.key === "r" && !typing && !event.ctrlKey && !event.metaKey) replay();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  });
}

type AttemptProps = {
  readonly attempt: AttemptView;
  readonly url: string | undefined;
  readonly open: boolean;
  readonly deliveryId: string;
};

function Attempt({ attempt, url, open, deliveryId }: AttemptProps) {
  const { requestHeaders, requestBody, responseHeaders, responseBody } = attempt;
  return (
    <section class="panel">
      <details open={open}>
        <summary>
          Attempt {attempt.number} {attempt.kind !== "scheduled" && <Mark status={attempt.kind} />}{" "}
          <Mark status={attempt.error === null ? "succeeded" : "failed"} /> {attempt.status ?? "no answer"}{" "}
          <span class="muted">{formatTime(Date.parse(attempt.startedAt))}</span>
        </summary>
        {attempt.error && <p class="notice bad">{attempt.error}</p>}
        {attempt.faults.length > 0 && <p class="notice">faults: {attempt.faults.join(", ")}</p>}
        <h3>Request</h3>
        <pre>{headerLines(requestHeaders)}</pre>
        <pre>{formatBody(requestBody)}</pre>
        <div class="tools">
          {url && <CopyButton label="Copy as curl" text={toCurl(url, requestHeaders, requestBody)} />}
          <CopyButton label="Copy exact body" text={requestBody} />
          <a href={hashOf("signatures", `${deliveryId}/${attempt.number}`)}>Check the signature</a>
        </div>
        <h3>Answer</h3>
        <pre>
          {attempt.status === null ? "none" : `${headerLines(responseHeaders)}\n\n${responseBody}`.trim()}
        </pre>
      </details>
    </section>
  );
}

const headerLines = (headers: Readonly<Record<string, string>>) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");

function toSpans(delivery: DeliveryView, nowMs: number): Span[] {
  const spans: Span[] = delivery.attempts.map((attempt) => {
    const fromMs = Date.parse(attempt.startedAt);
    return {
      key: String(attempt.number),
      label: `attempt ${attempt.number}`,
      tone: attempt.error === null ? "good" : "bad",
      fromMs,
      toMs: fromMs + attempt.durationMs,
      note:
        attempt.status === null ? "no answer" : `${attempt.status} in ${formatDuration(attempt.durationMs)}`,
    };
  });
  if (delivery.nextAttemptAt) {
    const atMs = Date.parse(delivery.nextAttemptAt);
    spans.push({
      key: "next",
      label: `attempt ${delivery.attempts.length + 1}`,
      tone: "wait",
      fromMs: atMs,
      toMs: atMs,
      note: formatRelative(atMs, nowMs),
    });
  }
  return spans;
}
