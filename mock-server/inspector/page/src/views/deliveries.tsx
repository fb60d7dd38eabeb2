import type { DeliverySummary } from "../api-types.ts";
import { formatTimeOfDay } from "../format.ts";
import { ListView } from "../parts/list-view.tsx";
import { usePages } from "../parts/pages.ts";
import { StatusBadge } from "../parts/status-badge.tsx";
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

const columnsOf = (urls: ReadonlyMap<string, string>): readonly Column<DeliverySummary>[] => [
  column("created", ["66px", "66px"], ({ createdAt }) => formatTimeOfDay(createdAt), "muted"),
  column("event", ["minmax(120px, 1fr)", "minmax(0, 1fr)"], ({ event }) => event),
  column("endpoint", ["minmax(70px, 1.1fr)"], (delivery) => nameOf(urls.get(delivery.endpointId)), "muted"),
  column("status", ["92px", "92px"], ({ status }) => <StatusBadge status={status} />),
  column("tries", ["62px", "30px"], ({ attemptCount }) => attemptCount, "number"),
];

/** The URL of an endpoint without its scheme. */
const nameOf = (url = "a deleted endpoint") => url.replace(/^https?:\/\//, "");

export function DeliveriesView({ id, filter, nowMs }: ViewProps) {
  const { event = "", endpointId = "" } = filter;
  const query = {
    status: statuses.find((known) => known === filter["status"]),
    event: event.trim() || undefined,
    endpointId: endpointId || undefined,
  };
  const list = usePages(JSON.stringify(query), ["delivery", "clock"], (page) =>
    control.listDeliveries({ ...page, ...query }),
  );
  const endpoints = useResource("endpoints", ["endpoint"], () => control.listEndpoints())?.data ?? [];
  const urls = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint.url]));
  const endpointOptions = endpoints.map(({ id: value, url }) => ({ value, text: nameOf(url) }));
  return (
    <ListView
      view="deliveries"
      title="Deliveries"
      id={id}
      filter={filter}
      fields={[
        { name: "event", label: "event name", placeholder: "event, e.g. task.failed" },
        { name: "status", label: "status", options: statuses },
        { name: "endpointId", label: "endpoint", options: endpointOptions },
      ]}
      list={list}
      keyOf={(delivery) => delivery.id}
      columns={columnsOf(urls)}
      nothing="No delivery. Create an endpoint, then start a task."
      detail={(deliveryId) => <DeliveryDetail key={deliveryId} id={deliveryId} urls={urls} nowMs={nowMs} />}
    />
  );
}
