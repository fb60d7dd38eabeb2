// What the page of an inbox asks its server: paths below the place where it is mounted, and the answers, which are JSON. Times
// are RFC 3339. Nothing is pushed: the page asks again while it is visible.
//
//   GET  api/overview                               Overview
//   GET  api/events?<filter>&iterator=…&limit=50    Page<EventSummary>      newest first
//   GET  api/errors                                 ErrorList
//   GET  api/task?task=…                            TaskEvents              in the order in which a receiver applies them
//   GET  api/event?source=…&id=…                    EventDetail
//   GET  api/count?action=replay&<filter>           Preview                 what an action would change
//   POST api/replay, api/discard                    ActionResult            Action; needs the header x-page-token
//
// A filter has `state`, `event`, `task`, `client`, `error`, `source`, `since` and `until`, as the command `list` has; `state` and
// `event` may be lists with commas. An error is `{ "error": { "code", "message" } }` with 400, 401, 403, 404, 409, 500 or 503.

import type { DeliveryChannel, InboxRowState } from "../inbox/row.ts";

export interface Overview {
  /** The time of the process that serves the page. */
  readonly now: string;
  readonly readOnly: boolean;
  /** Who looks, as `authorize` says. */
  readonly actor: string | null;
  /** The token is needed for actions, in the header `x-page-token`. */
  readonly token: string;
  /** Rows are counted up to 1,000. */
  readonly rows: { readonly waiting: number; readonly dead: number; readonly quarantined: number };
  readonly oldestPendingMs: number | null;
  /** The newest events, at most 1,000, by when they were received and what they are now. */
  readonly activity: Activity;
  /** The receiver of the process that serves the page; `null` for the command, which runs none. */
  readonly receiver: ReceiverNumbers | null;
  /** Who has claimed events: those whose lease has ended are dead or halted. */
  readonly processes: readonly ProcessLeases[];
  /** The endpoint and its tenants, by what they have among the newest events and failures. */
  readonly sources: readonly SourceCounts[];
  /** What reconciling found among the newest events, newest first; at most 20. */
  readonly reconciled: readonly EventSummary[];
}

export interface Activity {
  readonly from: string;
  readonly barMs: number;
  readonly bars: readonly { readonly index: number; readonly counts: Readonly<Record<string, number>> }[];
  /** There are older events, which are not counted. */
  readonly isPartial: boolean;
}

export interface ReceiverNumbers {
  readonly storingForMs: number | null;
  readonly claimingForMs: number | null;
  readonly reconcile: { readonly failed: number; readonly succeededAgoMs: number | null };
}

export interface ProcessLeases {
  readonly worker: string;
  readonly events: number;
  /** The time until the lease that ends last has ended; negative once it has. */
  readonly endsInMs: number;
}

export interface SourceCounts {
  readonly source: string;
  readonly newest: number;
  readonly waiting: number;
  readonly dead: number;
  readonly failing: number;
}

export interface EventSummary {
  readonly seq: number;
  readonly source: string;
  /** The `webhook-id`. */
  readonly id: string;
  readonly state: InboxRowState;
  readonly event: string | null;
  readonly task: string | null;
  readonly channel: DeliveryChannel;
  readonly status: string | null;
  readonly occurredAt: string | null;
  readonly receivedAt: string;
  readonly dueAt: string;
  readonly diedAt: string | null;
  readonly attempts: number;
  readonly replays: number;
  readonly lastError: string | null;
  readonly bodyBytes: number | null;
}

export interface EventDetail extends EventSummary {
  /** This and the next two are what is kept of the delivery's headers. */
  readonly signedAt: string;
  readonly secretIndex: number | null;
  readonly traceparent: string | null;
  /** `null` without `showBodies`, and when it was removed. */
  readonly body: string | null;
  /** What happens next, as a sentence. */
  readonly next: string;
}

export interface TaskEvents {
  readonly data: readonly TaskEvent[];
  /** Older events were not looked at. */
  readonly isPartial: boolean;
}

export interface TaskEvent extends EventSummary {
  /** Why it was applied or not, as a sentence. */
  readonly note: string;
}

export interface ErrorList {
  readonly data: readonly ErrorGroup[];
  /** There are more failures than the newest 2,000. */
  readonly isPartial: boolean;
}

/** Events that fail in the same way: dead, in quarantine, or waiting for another attempt. */
export interface ErrorGroup {
  readonly event: string | null;
  /** The first line, where ids and numbers are `…`. */
  readonly message: string;
  /** Part of the error that all have: what the filter `error` takes. */
  readonly text: string;
  readonly count: number;
  readonly dead: number;
  readonly firstAt: string;
  readonly lastAt: string;
  readonly sources: readonly string[];
  /** There are at most 20. */
  readonly tasks: readonly string[];
  readonly sample: EventSummary;
}

export interface Page<Item> {
  readonly data: readonly Item[];
  /** The next page begins here; `null` at the end. */
  readonly iterator: string | null;
  /** How many events were looked at. A page may have fewer events than its limit when few of many match. */
  readonly looked: number;
}

export interface Preview {
  readonly count: number;
  /** It is more: counting ends at 10,000. */
  readonly isPartial: boolean;
  readonly firstAt: string | null;
  readonly lastAt: string | null;
  readonly events: Readonly<Record<string, number>>;
  /** The action gets this number: what is stored later is not changed. */
  readonly beforeSeq: number;
}

/** Either one event or a filter, with what `api/count` answered. */
export type Action =
  | { readonly source: string; readonly id: string }
  | { readonly filter: Readonly<Record<string, string>>; readonly beforeSeq: number };

export interface ActionResult {
  /** How many events had each outcome: `replayed`, `discarded`, `not-found`, `not-replayable`, `not-discardable`. */
  readonly counts: Readonly<Record<string, number>>;
  /** It ended after 10,000 events or 15 s, before the last one: the same action continues. */
  readonly isPartial: boolean;
}
