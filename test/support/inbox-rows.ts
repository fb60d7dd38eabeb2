import type {
  InboxClaimOptions,
  InboxHeadAdvance,
  InboxSettlement,
  NewInboxRow,
} from "workspace-tasks/receiver-kit";
import { parseDelivery } from "../../receiver-kit/event/parse-delivery.ts";
import { completedEvent, sampleEvent } from "./sample-event.ts";

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

export function claimOptions(fields: Partial<InboxClaimOptions> = {}): InboxClaimOptions {
  return {
    source: "default",
    worker: "worker-1",
    rowsMax: 10,
    rowsPerKeyMax: 1,
    bytesMax: 16_000_000,
    retry: { firstDelayMs: 1_000, delayMsMax: 3_600_000 },
    leaseMs: 30_000,
    attemptsMax: 3,
    keyOrder: "latest",
    reclaimUntilMs: null,
    ...fields,
  };
}

/** The settlement of an event that is newer than its head. */
export function doneWith(
  row: { readonly orderKey: string | null; readonly position: string | null; readonly status: string | null },
  fields: Partial<InboxHeadAdvance> = {},
): InboxSettlement {
  if (row.orderKey === null || row.position === null) return { state: "done", advance: null };
  const advance = {
    key: row.orderKey,
    position: row.position,
    status: row.status,
    allowSame: false,
    ...fields,
  };
  return { state: "done", advance };
}
