import type { DeliverySummary, EndpointSummary } from "@workspace-tasks/mock-server/control";
import { type Filter, hashOf } from "@workspace-tasks/page-parts/address.ts";
import { valuesOf } from "@workspace-tasks/page-parts/controls.tsx";
import { type Column, column, ListView, timeColumn, usePages } from "@workspace-tasks/page-parts/lists.tsx";
import { useNowMs, useResource } from "@workspace-tasks/page-parts/state.ts";
import { shortId } from "@workspace-tasks/page-parts/text.ts";
import type { ViewProps } from "../../app/views.ts";
import {
  DeliveryBadge,
  deliveryStatuses,
  EndpointName,
  isDue,
  LastResponse,
  NextAttempt,
} from "../../parts/delivery-state.tsx";
import { control } from "../../state/mock.ts";
import { labelOfEndpoint } from "../../text/endpoint-labels.ts";
import { DeliveryHistogram, type DeliveryQuery, outcomes } from "../histograms.tsx";
import { DeliveryDetail } from "./delivery-detail.tsx";
import { ReplayRejected } from "./replay-rejected.tsx";

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
    ({ event, url }) => (
      <>
        <span>{event}</span>
        <EndpointName url={url} />
      </>
    ),
    { class: "two-lines", value: ({ event, url }) => `${event} ${url}` },
  ),
  column(
    "client, about",
    ["minmax(110px, 1fr)", "minmax(70px, 0.8fr)", null],
    ({ client, subject }) => (
      <>
        <span>{client ?? "–"}</span>
        <span class="muted mono">{shortId(subject)}</span>
      </>
    ),
    { class: "two-lines", value: ({ client, subject }) => `${client} ${subject}` },
  ),
  column("HTTP", ["46px", "46px", "40px"], (delivery) => <LastResponse delivery={delivery} />, {
    value: ({ lastStatus }) => lastStatus ?? 0,
  }),
  column(
    "status, next attempt",
    ["150px", "132px", "118px"],
    (delivery) => (
      <>
        <DeliveryBadge delivery={delivery} />
        <NextAttempt delivery={delivery} />
      </>
    ),
    { class: "two-lines", value: ({ status, nextAttemptAt }) => `${status} ${nextAttemptAt}` },
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
      detail={(deliveryId) => <DeliveryDetail key={deliveryId} id={deliveryId} />}
    />
  );
}
