import { useNowMs } from "../../state/clock.ts";
import { formatExact, formatTimeNear } from "../../text/format.ts";

/** A time of the mock, with its date on another day than now; the pointer shows it with milliseconds. */
export const Time = ({ at }: { readonly at: string }) => (
  <time title={formatExact(at)}>{formatTimeNear(at, useNowMs())}</time>
);
