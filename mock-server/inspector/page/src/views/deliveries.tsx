import type { Filter } from "../address.ts";
import type { DeliverySummary } from "../api-types.ts";
import { formatTimeNear, shortId } from "../format.ts";
import { ActionButton, useAction } from "../parts/action.tsx";
import { DeliveryBadge, describeNext, LastResponse } from "../parts/delivery-state.tsx";
import { ListView } from "../parts/list-view.tsx";
import { usePages } from "../parts/pages.ts";
import { timeColumn } from "../parts/time-column.ts";
import { type Column, column } from "../parts/windowed-rows.tsx";
import { control, useResource } from "../resource.ts";
import type { ViewProps } from "../view.ts";
import { DeliveryDetail } from "./delivery-detail.tsx";

const statuses: readonly DeliverySummary["status"][] = [
  "pending",
  "paused",
  "succeeded",
  "failed",
  "cancelled",
];

const responses = [
  { value: "2xx", text: "2xx" },
  { value: "3xx", text: "3xx" },
  { value: "4xx", text: "4xx" },
  { value: "5xx", text: "5xx" },
  { value: "none", text: "no response" },
];

const columnsOf = (rows: readonly DeliverySummary[], nowMs: number): readonly Column<DeliverySummary>[] => [
  column(
    "created",
    timeColumn(
      rows.map(({ createdAt }) => createdAt),
      nowMs,
    ),
    ({ createdAt }) => formatTimeNear(createdAt, nowMs),
    "muted",
  ),
  column("event", ["minmax(120px, 1fr)", "minmax(124px, 1.2fr)", "minmax(0, 1fr)"], ({ event }) => event),
  column("client", ["minmax(110px, 1fr)", "minmax(60px, 1fr)", "minmax(0, 0.8fr)"], ({ client }) => client),
  column(
    "about",
    ["84px", null, null],
    ({ subject }) => <span class="mono">{shortId(subject)}</span>,
    "muted",
  ),
  column("endpoint", ["minmax(120px, 1.3fr)", null, null], ({ url }) => nameOf(url), "muted"),
  column("status", ["84px", "84px", "84px"], (delivery) => <DeliveryBadge delivery={delivery} />),
  column("last", ["40px", "36px", "34px"], (delivery) => <LastResponse delivery={delivery} />),
  column("attempts", ["150px", "150px", null], (delivery) => describeNext(delivery, nowMs), "muted"),
];

/** The URL of an endpoint without its scheme. */
const nameOf = (url: string | null) => url?.replace(/^https?:\/\//, "") ?? "a deleted endpoint";

function queryOf({ text = "", event, endpointId, subject, rejected, lastResponse, status }: Filter) {
  return {
    // Rejected and tried again, as the badge says; failed ones have a status of their own.
    status: status === "rejected" ? "pending" : statuses.find((known) => known === status),
    rejected: rejected === "true" || status === "rejected" || undefined,
    lastResponse: responses.find(({ value }) => value === lastResponse)?.value,
    event: event || undefined,
    subject: subject || undefined,
    endpointId: endpointId || undefined,
    text: text.trim() || undefined,
  };
}

export function DeliveriesView({ id, filter, overview, nowMs }: ViewProps) {
  const query = queryOf(filter);
  const list = usePages(JSON.stringify(query), ["delivery", "clock"], (page) =>
    control.listDeliveries({ ...page, ...query }),
  );
  const endpoints = useResource("endpoints", ["endpoint"], () => control.listEndpoints())?.data ?? [];
  return (
    <ListView
      view="deliveries"
      title="Deliveries"
      id={id}
      filter={filter}
      fields={[
        { name: "text", label: "deliveries that contain", placeholder: "id, event, client, URL, body" },
        { name: "status", label: "status", options: ["rejected", ...statuses] },
        { name: "lastResponse", label: "last response", options: responses },
        {
          name: "endpointId",
          label: "endpoint",
          options: endpoints.map(({ id: value, url }) => ({ value, text: nameOf(url) })),
        },
      ]}
      actions={
        overview && overview.rejectedDeliveries > 0 && <ReplayRejected query={query} rows={list.rows} />
      }
      list={list}
      keyOf={(delivery) => delivery.id}
      columns={columnsOf(list.rows, nowMs)}
      nothing="No delivery. Create an endpoint, then start a task, or send an event there."
      detail={(deliveryId) => <DeliveryDetail key={deliveryId} id={deliveryId} nowMs={nowMs} />}
    />
  );
}

interface ReplayProps {
  readonly query: ReturnType<typeof queryOf>;
  readonly rows: readonly DeliverySummary[];
}

/** Replays what the filter shows, as far as it was rejected. */
function ReplayRejected({ query, rows }: ReplayProps) {
  const action = useAction();
  const count = rows.filter(({ rejected }) => rejected).length;
  return (
    <div class="tools">
      <ActionButton
        action={action}
        disabled={count === 0}
        onRun={() => control.replayDeliveries({ ...query, rejected: true, limit: count })}
      >
        Replay rejected ({count})
      </ActionButton>
      {action.notice}
    </div>
  );
}
