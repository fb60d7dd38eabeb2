import { type Filter, hashOf } from "../../address.ts";
import { Histogram } from "../../parts/status/histogram.tsx";
import { goTo } from "../../route.ts";
import { control, useResource } from "../../state/resource.ts";

interface Props {
  readonly query: NonNullable<Parameters<typeof control.countDeliveries>[0]>;
  /** Of the list; a range is added to it. */
  readonly filter: Filter;
  readonly nowMs: number;
}

const tones = { delivered: "good", rejected: "bad", waiting: "wait", cancelled: "calm" } as const;

/** Deliveries by the time when they were created; a range that is selected shows them alone. */
export function DeliveryHistogram({ query, filter, nowMs }: Props) {
  const counts = useResource(`histogram ${JSON.stringify(query)}`, ["delivery", "clock"], () =>
    control.countDeliveries(query),
  );
  const series = Object.entries(tones).map(([name, tone]) => ({
    name,
    tone,
    href: hashOf("deliveries", null, { ...filter, status: name }),
  }));
  const show = (range: Filter) => goTo("deliveries", null, { ...filter, ...range });
  return <Histogram label="deliveries" counts={counts} series={series} nowMs={nowMs} onRange={show} />;
}
