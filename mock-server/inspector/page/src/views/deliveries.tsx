import type { Filter } from "../address.ts";
import type { ViewProps } from "../app.tsx";
import { formatTime } from "../format.ts";
import type { DeliverySummary, EndpointView } from "../nouns.ts";
import { Mark } from "../parts/mark.tsx";
import { OlderButton } from "../parts/older-button.tsx";
import { usePages } from "../parts/pages.ts";
import { Split } from "../parts/split.tsx";
import { WindowedRows } from "../parts/windowed-rows.tsx";
import { useResource } from "../resource.ts";
import { goTo } from "../route.ts";
import { DeliveryDetail } from "./delivery-detail.tsx";

const states = ["pending", "paused", "succeeded", "failed", "cancelled"];

export function DeliveriesView({ id, filter, nowMs }: ViewProps) {
  const { status = "", event = "", endpointId = "" } = filter;
  const list = usePages<DeliverySummary>("/delivery-log", { status, event: event.trim(), endpointId }, [
    "delivery",
    "clock",
  ]);
  const endpoints = useResource<{ data: EndpointView[] }>("/endpoints", ["endpoint"])?.data ?? [];
  const urls = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint.url]));
  const change = (changes: Filter) => goTo("deliveries", id, { ...filter, ...changes });
  return (
    <>
      <div class="head">
        <h2>Deliveries</h2>
        <div class="tools">
          <input
            data-filter
            type="search"
            aria-label="event name"
            placeholder="event, e.g. task.failed"
            value={event}
            onInput={(input) => change({ event: input.currentTarget.value })}
          />
          <select
            aria-label="state"
            value={status}
            onChange={(choice) => change({ status: choice.currentTarget.value })}
          >
            <option value="">every state</option>
            {states.map((state) => (
              <option key={state}>{state}</option>
            ))}
          </select>
          <select
            aria-label="endpoint"
            class="narrowing"
            value={endpointId}
            onChange={(choice) => change({ endpointId: choice.currentTarget.value })}
          >
            <option value="">every endpoint</option>
            {endpoints.map((endpoint) => (
              <option key={endpoint.id} value={endpoint.id}>
                {withoutScheme(endpoint.url)}
              </option>
            ))}
          </select>
        </div>
      </div>
      <Split
        of="deliveries"
        onClose={() => goTo("deliveries", null, filter)}
        list={
          <WindowedRows
            label="Deliveries, newest first"
            rows={list.rows}
            keyOf={(delivery) => delivery.id}
            columns="66px minmax(120px, 1fr) minmax(70px, 1.1fr) 92px 62px"
            narrowColumns="66px minmax(0, 1fr) 92px 30px"
            header={
              <>
                <span>created</span>
                <span>event</span>
                <span class="wide">endpoint</span>
                <span>state</span>
                <span class="number">tries</span>
              </>
            }
            draw={(delivery) => (
              <>
                <span class="muted">{formatTime(Date.parse(delivery.createdAt)).slice(11)}</span>
                <span>{delivery.event}</span>
                <span class="muted wide">
                  {withoutScheme(urls.get(delivery.endpointId) ?? "a deleted endpoint")}
                </span>
                <span>
                  <Mark status={delivery.status} />
                </span>
                <span class="number">{delivery.attemptCount}</span>
              </>
            )}
            selected={id}
            onSelect={(key) => goTo("deliveries", key, filter)}
            nothing={list.loading ? "Loading …" : "No delivery. Create an endpoint, then start a task."}
            footer={<OlderButton list={list} />}
          />
        }
        detail={id ? <DeliveryDetail key={id} id={id} urls={urls} nowMs={nowMs} /> : null}
      />
    </>
  );
}

const withoutScheme = (url: string) => url.replace(/^https?:\/\//, "");
