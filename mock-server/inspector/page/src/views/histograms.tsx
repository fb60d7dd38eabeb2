import type { Filter } from "@workspace-tasks/page-parts/address.ts";
import { Histogram } from "@workspace-tasks/page-parts/histogram.tsx";
import { useResource } from "@workspace-tasks/page-parts/state.ts";
import { control } from "../state/mock.ts";

export type DeliveryQuery = NonNullable<Parameters<typeof control.countDeliveries>[0]>;
type RequestQuery = NonNullable<Parameters<typeof control.countRequests>[0]>;

interface Props<Query> {
  /** Default: everything. */
  readonly query?: Query;
  /** Of the list, which gets the range. */
  readonly filter?: Filter;
}

export const outcomes = { delivered: "good", rejected: "bad", waiting: "wait", cancelled: "calm" } as const;

/** By the time when they were created. */
export function DeliveryHistogram({ query = {}, ...props }: Props<DeliveryQuery>) {
  const read = () => control.countDeliveries(query);
  const counts = useResource(`deliveries ${JSON.stringify(query)}`, ["delivery", "clock"], read);
  return <Histogram view="deliveries" field="status" tones={outcomes} counts={counts} {...props} />;
}

export const results = { succeeded: "good", limited: "wait", rejected: "bad", faulty: "run" } as const;

export function RequestHistogram({ query = {}, ...props }: Props<RequestQuery>) {
  const read = () => control.countRequests(query);
  const counts = useResource(`requests ${JSON.stringify(query)}`, ["request"], read);
  return <Histogram view="requests" field="result" tones={results} counts={counts} {...props} />;
}
