import { parseDelivery } from "../../receiver-kit/event/parse-delivery.ts";
import type { NewInboxRow } from "../../receiver-kit/inbox/inbox.ts";
import { completedEvent, sampleEvent } from "./sample-event.ts";

export { claimOne, claimOptions, doneWith, settle } from "./inbox-contract/contract-rows.ts";

/** A delivery of `event` as the receiver would store it. */
export function newRowOf(
  event: Readonly<Record<string, unknown>>,
  fields: Partial<NewInboxRow> = {},
): NewInboxRow {
  const body = Buffer.from(JSON.stringify(event));
  const parsed = parseDelivery(body, Date.UTC(2026, 5, 1));
  return {
    ...parsed.columns,
    source: "default",
    id: `msg_${String(event["id"])}`,
    channel: "webhook",
    timestamp: 1_772_357_400,
    body,
    quarantine: parsed.ok ? null : parsed.reason,
    secretIndex: 0,
    traceparent: null,
    ...fields,
  };
}

/** The n-th second of a task. */
export function instant(second: number): string {
  return new Date(Date.UTC(2026, 2, 1) + second * 1000).toISOString();
}

export function runningAt(taskId: string, second: number, fields: Partial<NewInboxRow> = {}): NewInboxRow {
  return newRowOf(sampleEvent({ taskId, occurredAt: instant(second) }), fields);
}

export function completedAt(taskId: string, second: number, fields: Partial<NewInboxRow> = {}): NewInboxRow {
  return newRowOf(completedEvent({ taskId, occurredAt: instant(second) }), fields);
}
