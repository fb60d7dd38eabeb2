import type { DeliverySummary } from "../../api-types.ts";
import { formatRelative, plural } from "../../text/format.ts";
import { StatusBadge } from "./status.tsx";

type State = Pick<DeliverySummary, "status" | "rejected">;

/** A delivery that its receiver did not accept is `rejected`, whether or not it is tried again. */
export const stateOf = ({ status, rejected }: State): string =>
  rejected && status === "pending" ? "rejected" : status;

export function DeliveryBadge({ delivery }: { readonly delivery: State }) {
  const state = stateOf(delivery);
  return <StatusBadge status={state} tone={delivery.rejected ? "bad" : undefined} />;
}

/** The URL of an endpoint without its scheme. */
export const nameOfEndpoint = (url: string | null): string =>
  url?.replace(/^https?:\/\//, "") ?? "a deleted endpoint";

type LastResponse = Pick<DeliverySummary, "attemptCount" | "lastStatus" | "lastError">;

/** `500`, `no response`, or nothing before the first attempt. */
export function LastResponse({ delivery }: { readonly delivery: LastResponse }) {
  const { attemptCount, lastStatus, lastError } = delivery;
  if (attemptCount === 0) return <span class="muted">–</span>;
  return <span class={lastError === null ? "muted" : "toned tone-bad"}>{lastStatus ?? "none"}</span>;
}

type Next = Pick<DeliverySummary, "status" | "nextAttemptAt" | "nextTry" | "triesMax" | "attemptCount">;

/** `try 2 of 8 in 5 s`, or how many attempts there were. */
export function describeNext(delivery: Next, nowMs: number): string {
  const { status, nextAttemptAt, nextTry, triesMax, attemptCount } = delivery;
  if (nextTry === null) return attemptCount === 0 ? "" : plural(attemptCount, "attempt");
  if (status === "paused") return `try ${nextTry} of ${triesMax} waits`;
  if (nextAttemptAt === null) return `try ${nextTry} of ${triesMax} now`;
  return `try ${nextTry} of ${triesMax} ${formatRelative(Date.parse(nextAttemptAt), nowMs)}`;
}
