import type { Filter } from "../address.ts";
import type { DeliverySummary } from "../api-types.ts";
import { formatTimeOfDay } from "../format.ts";
import { ListView } from "../parts/list-view.tsx";
import { usePages } from "../parts/pages.ts";
import { Select } from "../parts/select.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import type { Column } from "../parts/windowed-rows.tsx";
import { control, useResource } from "../resource.ts";
import { goTo } from "../route.ts";
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
  {
    title: "created",
    width: "66px",
    narrowWidth: "66px",
    class: "muted",
    cell: ({ createdAt }) => formatTimeOfDay(createdAt),
  },
  {
    title: "event",
    width: "minmax(120px, 1fr)",
    narrowWidth: "minmax(0, 1fr)",
    cell: ({ event }) => event,
  },
  {
    title: "endpoint",
    width: "minmax(70px, 1.1fr)",
    class: "muted",
    cell: ({ endpointId }) => withoutScheme(urls.get(endpointId) ?? "a deleted endpoint"),
  },
  {
    title: "status",
    width: "92px",
    narrowWidth: "92px",
    cell: ({ status }) => <StatusBadge status={status} />,
  },
  {
    title: "tries",
    width: "62px",
    narrowWidth: "30px",
    class: "number",
    cell: ({ attemptCount }) => attemptCount,
  },
];

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
  const change = (changes: Filter) => goTo("deliveries", id, { ...filter, ...changes });
  return (
    <ListView
      view="deliveries"
      title="Deliveries"
      label="Deliveries, newest first"
      id={id}
      filter={filter}
      filters={
        <>
          <input
            data-filter
            type="search"
            aria-label="event name"
            placeholder="event, e.g. task.failed"
            value={event}
            onInput={(input) => change({ event: input.currentTarget.value })}
          />
          <Select
            label="status"
            value={query.status ?? ""}
            every="every status"
            options={statuses}
            onSelect={(status) => change({ status })}
          />
          <Select
            label="endpoint"
            class="narrowing"
            value={endpointId}
            every="every endpoint"
            options={endpoints.map(({ id: value, url }) => ({ value, text: withoutScheme(url) }))}
            onSelect={(value) => change({ endpointId: value })}
          />
        </>
      }
      list={list}
      keyOf={(delivery) => delivery.id}
      columns={columnsOf(urls)}
      nothing="No delivery. Create an endpoint, then start a task."
      detail={(deliveryId) => <DeliveryDetail key={deliveryId} id={deliveryId} urls={urls} nowMs={nowMs} />}
    />
  );
}

const withoutScheme = (url: string) => url.replace(/^https?:\/\//, "");
