import { type Filter, hashOf } from "../address.ts";
import { Histogram } from "../parts/status/histogram.tsx";
import { goTo } from "../route.ts";
import { control, useResource } from "../state/resource.ts";

interface Props {
  readonly query: NonNullable<Parameters<typeof control.countRequests>[0]>;
  /** Of the list; a range is added to it. */
  readonly filter: Filter;
  readonly nowMs: number;
}

const tones = { succeeded: "good", limited: "wait", rejected: "bad", faulty: "run" } as const;

/** Requests over time; a range that is selected shows them alone. */
export function RequestHistogram({ query, filter, nowMs }: Props) {
  const counts = useResource(`histogram ${JSON.stringify(query)}`, ["request"], () =>
    control.countRequests(query),
  );
  const series = Object.entries(tones).map(([name, tone]) => ({
    name,
    tone,
    href: hashOf("requests", null, { ...filter, result: name }),
  }));
  const show = (range: Filter) => goTo("requests", null, { ...filter, ...range });
  return <Histogram label="requests" counts={counts} series={series} nowMs={nowMs} onRange={show} />;
}
