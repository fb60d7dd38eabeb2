import { type Filter, hashOf } from "../../address.ts";
import type { DeliverySummary, EndpointSummary } from "../../api-types.ts";
import { ActionButton, Actions } from "../../parts/controls/action.tsx";
import { ListView } from "../../parts/lists/list-view.tsx";
import { usePages } from "../../parts/lists/pages.ts";
import { timeColumn } from "../../parts/lists/time-column.ts";
import { type Column, column } from "../../parts/lists/windowed-rows.tsx";
import {
  DeliveryBadge,
  describeNext,
  LastResponse,
  nameOfEndpoint,
} from "../../parts/status/delivery-state.tsx";
import { control, useResource } from "../../state/resource.ts";
import { shortId } from "../../text/format.ts";
import type { ViewProps } from "../../view.ts";
import { DeliveryDetail } from "./delivery-detail.tsx";

const statuses: readonly DeliverySummary["status"][] = [
  "pending",
  "paused",
  "succeeded",
  "failed",
  "cancelled",
];

const responses = ["2xx", "3xx", "4xx", "5xx", "none"];

const columnsOf = (rows: readonly DeliverySummary[], nowMs: number): readonly Column<DeliverySummary>[] => [
  timeColumn("created", rows, ({ createdAt }) => createdAt, nowMs),
  column("event", ["minmax(120px, 1fr)", "minmax(124px, 1.2fr)", "minmax(0, 1fr)"], ({ event }) => event),
  column("client", ["minmax(110px, 1fr)", "minmax(60px, 1fr)", "minmax(0, 0.8fr)"], ({ client }) => client),
  column(
    "about",
    ["84px", null, null],
    ({ subject }) => <span class="mono">{shortId(subject)}</span>,
    "muted",
  ),
  column("endpoint", ["minmax(120px, 1.3fr)", null, null], ({ url }) => nameOfEndpoint(url), "muted"),
  column("status", ["84px", "84px", "84px"], (delivery) => <DeliveryBadge delivery={delivery} />),
  column("last", ["40px", "36px", "34px"], (delivery) => <LastResponse delivery={delivery} />),
  column("attempts", ["150px", "150px", null], (delivery) => describeNext(delivery, nowMs), "muted"),
];

function queryOf({ text = "", endpointId, rejected, lastResponse, status }: Filter) {
  return {
    // Rejected and tried again, as the badge says; failed ones have a status of their own.
    status: status === "rejected" ? "pending" : statuses.find((known) => known === status),
    rejected: rejected === "true" || status === "rejected" || undefined,
    lastResponse: responses.find((known) => known === lastResponse),
    endpointId: endpointId || undefined,
    text: text.trim() || undefined,
  };
}

/** An endpoint that was deleted can still be the filter. */
function endpointOptions(endpoints: readonly EndpointSummary[], chosen: string | undefined) {
  const options = endpoints.map(({ id: value, url }) => ({ value, text: nameOfEndpoint(url) }));
  const isListed = !chosen || endpoints.some(({ id }) => id === chosen);
  return isListed ? options : [...options, { value: chosen, text: `endpoint ${shortId(chosen)}` }];
}

export function DeliveriesView({ id, filter, nowMs }: ViewProps) {
  const query = queryOf(filter);
  const list = usePages(JSON.stringify(query), ["delivery", "clock"], (page) =>
    control.listDeliveries({ ...page, ...query }),
  );
  const endpoints = useResource("endpoints", ["endpoint"], () => control.listEndpoints())?.data ?? [];
  return (
    <ListView
      view="deliveries"
      id={id}
      filter={filter}
      fields={[
        { name: "text", label: "deliveries that contain", placeholder: "id, event, client, URL, body" },
        { name: "status", label: "status", options: ["rejected", ...statuses] },
        { name: "lastResponse", label: "last response", options: responses },
        {
          name: "endpointId",
          label: "endpoint",
          options: endpointOptions(endpoints, filter["endpointId"]),
        },
      ]}
      actions={<ReplayRejected query={query} rows={list.rows} hasMore={!list.done} />}
      list={list}
      keyOf={(delivery) => delivery.id}
      columns={columnsOf(list.rows, nowMs)}
      nothing={
        <>
          No delivery. <a href={hashOf("endpoints")}>Create an endpoint</a>, then start a task, or send an
          event there.
        </>
      }
      detail={(deliveryId) => <DeliveryDetail key={deliveryId} id={deliveryId} nowMs={nowMs} />}
    />
  );
}

interface ReplayProps {
  readonly query: ReturnType<typeof queryOf>;
  readonly rows: readonly DeliverySummary[];
  /** Whether there are older rows than `rows`. */
  readonly hasMore: boolean;
}

/** As many as the mock replays at once. */
const replayedMax = 10_000;

/** Replays what the filter matches, as far as it was rejected, whether or not the row is loaded. */
function ReplayRejected({ query, rows, hasMore }: ReplayProps) {
  const count = rows.filter(({ rejected }) => rejected).length;
  const replay = () => control.replayDeliveries({ ...query, rejected: true, limit: replayedMax });
  return (
    <Actions>
      <ActionButton
        label={`Replay rejected (${count}${hasMore ? "+" : ""})`}
        class="steady"
        disabled={count === 0}
        onRun={replay}
      />
    </Actions>
  );
}
