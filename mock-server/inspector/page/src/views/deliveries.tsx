import type {
  DeliveryAttempt,
  DeliveryDetail,
  DeliverySummary,
  EndpointSummary,
} from "@workspace-tasks/mock-server/control";
import {
  ActionButton,
  Actions,
  Button,
  CopyButton,
  LinkButton,
  Notice,
  valuesOf,
} from "@workspace-tasks/page-parts/controls.tsx";
import { type Column, column, ListView, timeColumn, usePages } from "@workspace-tasks/page-parts/lists.tsx";
import { type Filter, hashOf } from "@workspace-tasks/page-parts/route.ts";
import { useNowMs, useResource } from "@workspace-tasks/page-parts/state.ts";
import { formatDuration, formatExact, shortId } from "@workspace-tasks/page-parts/text.ts";
import {
  Absent,
  BodyText,
  Copied,
  Facts,
  Headers,
  type HttpHeaders,
  lazyView,
  linesOf,
  Time,
  Truncated,
} from "@workspace-tasks/page-parts/values.tsx";
import { useState } from "preact/hooks";
import { control, transport, type ViewProps } from "../mock.ts";
import {
  DeliveryBadge,
  DeliveryHistogram,
  type DeliveryQuery,
  deliveryStatuses,
  describeNext,
  EndpointName,
  isDue,
  LastResponse,
  NextAttempt,
  outcomes,
  ReplayRejected,
  StatusBadge,
} from "../parts.tsx";
import { deliveryMarkdown, firstWords, labelOfEndpoint, toCurl, withDuration } from "../text.ts";

const outcomeNames = Object.keys(outcomes) as readonly (keyof typeof outcomes)[];
const statuses = ["paused", "failed"] as const;
const statusOptions = [
  ...outcomeNames,
  ...statuses.map((value) => ({ value, text: deliveryStatuses[value]?.label ?? value })),
];

const responses = ["2xx", "3xx", "4xx", "5xx", { value: "none", text: "no response" }];

const columnsOf = (rows: readonly DeliverySummary[], nowMs: number): readonly Column<DeliverySummary>[] => [
  timeColumn("created", rows, ({ createdAt }) => createdAt, nowMs),
  column(
    "event, endpoint",
    ["minmax(160px, 1.3fr)", "minmax(150px, 1.6fr)", "minmax(0, 1fr)"],
    ({ event, url }) => [event, <EndpointName url={url} />],
    { value: ({ event, url }) => `${event} ${url}` },
  ),
  column(
    "client, about",
    ["minmax(110px, 1fr)", "minmax(70px, 0.8fr)", null],
    ({ client, subject }) => [client ?? "–", <span class="mono">{shortId(subject)}</span>],
    { value: ({ client, subject }) => `${client} ${subject}` },
  ),
  column("HTTP", ["46px", "46px", "40px"], (delivery) => <LastResponse delivery={delivery} />, {
    value: ({ lastStatus }) => lastStatus ?? 0,
  }),
  column(
    "status, next attempt",
    ["150px", "132px", "118px"],
    (delivery) => [<DeliveryBadge delivery={delivery} />, <NextAttempt delivery={delivery} />],
    { value: ({ status, nextAttemptAt }) => `${status} ${nextAttemptAt}` },
  ),
  column("attempts", ["76px", null, null], ({ attemptCount }) => attemptCount, { class: "muted" }),
];

function queryOf({ text = "", endpointId, lastResponse, status, from, to }: Filter): DeliveryQuery {
  return {
    outcome: outcomeNames.find((known) => known === status),
    status: statuses.find((known) => known === status),
    lastResponse: valuesOf(responses).find((known) => known === lastResponse),
    from,
    to,
    endpointId: endpointId || undefined,
    text: text.trim() || undefined,
  };
}

/** An endpoint that was deleted can still be the filter. */
function endpointOptions(endpoints: readonly EndpointSummary[], chosen: string | undefined) {
  const options = endpoints.map(({ id: value, url }) => ({ value, text: labelOfEndpoint(url) }));
  const isListed = !chosen || endpoints.some(({ id }) => id === chosen);
  return isListed ? options : [...options, { value: chosen, text: `endpoint ${shortId(chosen)}` }];
}

export function DeliveriesView({ id, filter }: ViewProps) {
  const nowMs = useNowMs();
  const query = queryOf(filter);
  const list = usePages(
    JSON.stringify(query),
    ["delivery", "clock"],
    (page) => control.listDeliveries({ ...page, ...query }),
    (rows) => (rows.some((row) => isDue(row, nowMs)) ? Math.floor(nowMs / 1_000) : 0),
  );
  const endpoints = useResource("endpoints", ["endpoint"], () => control.listEndpoints())?.data ?? [];
  return (
    <ListView
      view="deliveries"
      id={id}
      filter={filter}
      fields={[
        { name: "text", label: "deliveries that contain", placeholder: "id, event, client, URL, body" },
        { name: "status", label: "status", options: statusOptions },
        { name: "lastResponse", label: "response", options: responses },
        {
          name: "endpointId",
          label: "endpoint",
          options: endpointOptions(endpoints, filter["endpointId"]),
        },
      ]}
      actions={<ReplayRejected query={query} />}
      chart={<DeliveryHistogram query={query} filter={filter} />}
      list={list}
      keyOf={(delivery) => delivery.id}
      columns={columnsOf(list.rows, nowMs)}
      nothing={
        <>
          No delivery. <a href={hashOf("endpoints")}>Create an endpoint</a>, then start a task, or send an
          event there.
        </>
      }
      detail={(deliveryId) => <Detail key={deliveryId} id={deliveryId} />}
    />
  );
}

export function Detail({ id }: { readonly id: string }) {
  const nowMs = useNowMs();
  const delivery = useResource(
    `delivery ${id}`,
    ["delivery", "clock", "endpoint"],
    () => control.getDelivery(id),
    (read) => (read && isDue(read, nowMs) ? Math.floor(nowMs / 1_000) : 0),
  );
  if (!delivery) return <Absent value={delivery} text="There is no delivery with this id." />;
  const { url, taskId } = delivery;
  const next = describeNext(delivery, nowMs);
  const link = new URL(hashOf("deliveries", id), location.href).href;
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
            <CopyButton label="Copy link" text={link} />
            <CopyButton label="Copy as Markdown" text={() => deliveryMarkdown(delivery, link)} />
          </Actions>
        </div>
        <Facts
          values={{
            endpoint:
              url === null ? (
                `${shortId(delivery.endpointId)}, deleted`
              ) : (
                <a href={hashOf("endpoints", delivery.endpointId)}>{url}</a>
              ),
            client: delivery.client,
            "next attempt": next && (
              <span title={delivery.nextAttemptAt ? formatExact(delivery.nextAttemptAt) : undefined}>
                {next}, try {delivery.nextTry} of {delivery.triesMax}
              </span>
            ),
            [taskId ? "task" : "about"]: (
              <Copied value={delivery.subject} href={taskId ? hashOf("tasks", taskId) : undefined} />
            ),
          }}
        />
      </section>
      <Attempts delivery={delivery} />
    </>
  );
}

/** All attempts as one table; below it the chosen one, at first the last, and the body that all of them sent. */
export function Attempts({ delivery }: { readonly delivery: DeliveryDetail }) {
  const { attempts } = delivery;
  const [chosen, setChosen] = useState<number | null>(null);
  const attempt = attempts.find(({ number }) => number === chosen) ?? attempts.at(-1);
  return (
    <>
      <section class="panel">
        <table class="attempts" aria-label="Attempts, newest first">
          <thead>
            <tr>
              <th>#</th>
              <th>time</th>
              <th>response</th>
              <th>duration</th>
            </tr>
          </thead>
          <tbody>
            {attempts.toReversed().map((each) => (
              <AttemptRow
                key={each.number}
                attempt={each}
                before={attempts[each.number - 2]}
                isChosen={each === attempt}
                onChoose={() => setChosen(each.number)}
              />
            ))}
          </tbody>
        </table>
      </section>
      {attempt && (
        <section class="panel attempt" aria-label="Chosen attempt">
          <Attempt key={attempt.number} attempt={attempt} delivery={delivery} />
        </section>
      )}
      {attempt && (
        <section class="panel">
          <Facts
            values={{
              "webhook-id": <Copied value={delivery.id} />,
              "event id": <Copied value={delivery.eventId} />,
            }}
          />
          <BodyText label="Body" text={attempt.requestBody} />
        </section>
      )}
    </>
  );
}

interface AttemptRowProps {
  readonly attempt: DeliveryAttempt;
  readonly before: DeliveryAttempt | undefined;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

function AttemptRow({ attempt, before, isChosen, onChoose }: AttemptRowProps) {
  const { number, kind, status, error, startedAt, durationMs, faults } = attempt;
  const gapMs = before ? Date.parse(startedAt) - Date.parse(before.startedAt) : 0;
  return (
    <tr aria-current={isChosen || undefined} onClick={onChoose}>
      <td>
        <Button label={number} name={`Attempt ${number}`} class="quiet" onClick={onChoose} />
      </td>
      <td>
        <Time at={startedAt} /> {before && <span class="muted">+{formatDuration(gapMs)}</span>}
      </td>
      <td>
        <span class={`toned tone-${error === null ? "good" : "bad"}`}>{status ?? "no response"}</span>{" "}
        {kind !== "scheduled" && <StatusBadge status={kind} />}
        {faults.length > 0 && <StatusBadge status="fault" tone="wait" />}
      </td>
      <td>{formatDuration(durationMs)}</td>
    </tr>
  );
}

// Its library is large, and only a repeated attempt needs it: the view itself opens without a request.
const Difference = lazyView(() => import("../difference.tsx"), "Difference");

interface AttemptProps {
  readonly attempt: DeliveryAttempt;
  readonly delivery: Pick<DeliveryDetail, "id" | "url" | "attempts">;
}

/** Why it failed and its response; then its headers, and how they differ from the attempt before. */
export function Attempt({ attempt, delivery: { id, url, attempts } }: AttemptProps) {
  const { number, requestHeaders, requestBody, responseHeaders, responseBody, status, error, faults } =
    attempt;
  const before = attempts.find((each) => each.number === number - 1);
  const words = firstWords(responseBody);
  // What fits into the line below the error is not printed again.
  const isShown = error === null ? responseBody === "" : words === responseBody.trim();
  return (
    <>
      <div class="title-bar">
        <h4>
          Attempt {number}{" "}
          <span class="muted">{withDuration(status ?? "no response", " in", attempt.durationMs)}</span>
        </h4>
        <LinkButton label="Check the signature" href={hashOf("signatures", `${id}/${number}`)} />
        {url && transport.hasAddress && (
          <CopyButton
            label="Copy as curl"
            text={toCurl({ url, headers: requestHeaders, body: requestBody })}
          />
        )}
      </div>
      {error && (
        <Notice tone="bad">
          <strong>{error}</strong>
          <span class="mono">{words}</span>
        </Notice>
      )}
      {faults.length > 0 && <Notice tone="wait">Altered by a fault: {faults.join(", ")}</Notice>}
      {before && before.requestBody !== requestBody && (
        <Notice tone="wait">Its body differs from that of attempt {before.number}.</Notice>
      )}
      {!isShown && <BodyText label="Response body" text={responseBody} />}
      {attempt.responseTruncated && <Truncated />}
      <h4>Headers {before && <span class="muted">compared with attempt {before.number}</span>}</h4>
      <AttemptHeaders label="Request headers" before={before?.requestHeaders} headers={requestHeaders} />
      {status !== null && (
        <AttemptHeaders label="Response headers" before={before?.responseHeaders} headers={responseHeaders} />
      )}
    </>
  );
}

interface HeadersProps {
  readonly label: string;
  /** The headers of the attempt before. */
  readonly before: HttpHeaders | undefined;
  readonly headers: HttpHeaders;
}

/** Headers, or how they differ from those before. */
function AttemptHeaders({ label, before, headers }: HeadersProps) {
  const [from, to] = [before && linesOf(before), linesOf(headers)];
  if (from !== undefined && from !== to)
    return <Difference label={label} from={from} to={to} context={Object.keys(headers).length} />;
  return (
    <section aria-label={label}>
      <Headers headers={headers} />
    </section>
  );
}
