// Rows as the receiver would store them. An inbox does not read bodies, so these have short ones.

import { encodePosition, orderKey, statusRank } from "../../../receiver-kit/event/event-order.ts";
import type {
  InboxClaim,
  InboxClaimOptions,
  InboxHeadAdvance,
  InboxSettlement,
  InboxStore,
  NewInboxRow,
} from "../../../receiver-kit/inbox/inbox.ts";

export const source = "default";

/** An event of a task at the n-th second. */
export function rowAt(taskId: string, second: number, fields: Partial<NewInboxRow> = {}): NewInboxRow {
  const { status = "RUNNING" } = fields;
  const id = fields.id ?? `msg_${taskId}_${second}_${status}`;
  return {
    event: `task.${String(status).toLowerCase()}`,
    orderKey: orderKey([taskId]),
    position: positionAt(second, status ?? "", id),
    status,
    workspaceId: "workspace-1",
    source,
    id,
    channel: "webhook",
    timestamp: startSeconds + second,
    body: new TextEncoder().encode(JSON.stringify({ id, taskId, status })),
    quarantine: null,
    secretIndex: 0,
    traceparent: null,
    ...fields,
  };
}

const startSeconds = 1_772_323_200;

export function positionAt(second: number, status = "RUNNING", id = "a"): string {
  const occurredAt = BigInt(startSeconds + second) * 1_000_000_000n;
  return encodePosition({ occurredAt, rank: statusRank(status), id });
}

export function completedAt(taskId: string, second: number, fields: Partial<NewInboxRow> = {}): NewInboxRow {
  return rowAt(taskId, second, { status: "COMPLETED", ...fields });
}

export function claimOptions(fields: Partial<InboxClaimOptions> = {}): InboxClaimOptions {
  return {
    source,
    worker: "worker-1",
    rowsMax: 10,
    rowsPerKeyMax: 1,
    bytesMax: 16_000_000,
    retry: { firstDelayMs: 1_000, delayMsMax: 3_600_000 },
    leaseMs: 30_000,
    attemptsMax: 3,
    keyOrder: "latest",
    ...fields,
  };
}

/** The settlement of an event that is newer than its head. */
export function doneWith(
  row: { readonly orderKey: string | null; readonly position: string | null; readonly status: string | null },
  fields: Partial<InboxHeadAdvance> = {},
): InboxSettlement {
  const { orderKey: key, position, status } = row;
  if (key === null || position === null) return { state: "done", advance: null };
  return { state: "done", advance: { position, status, allowSame: false, ...fields } };
}

export async function claimOne(
  inbox: InboxStore,
  fields: Partial<InboxClaimOptions> = {},
): Promise<InboxClaim> {
  const [claim, ...others] = (await inbox.claim(claimOptions({ rowsMax: 1, ...fields }))).claims;
  if (!claim || others.length > 0) throw new Error("expected one claimed row");
  return claim;
}

export const transactionLimits = { timeoutMs: 60_000 };

/** The transaction of one claim, or of a batch. */
export function begin<Transaction>(inbox: InboxStore<Transaction>, ...claims: readonly InboxClaim[]) {
  const items = claims.map((claim) => ({ claim, settlement: doneWith(claim) }));
  return inbox.begin(items, transactionLimits);
}

export function settle(inbox: InboxStore, claim: InboxClaim, settlement = doneWith(claim)) {
  return inbox.begin([{ claim, settlement }], transactionLimits).commit();
}

/** Rows by id, in the order in which they were claimed. */
export async function claimIds(inbox: InboxStore, fields: Partial<InboxClaimOptions> = {}) {
  return (await inbox.claim(claimOptions(fields))).claims.map(({ id }) => id);
}

/** Drivers return different kinds of byte arrays. */
export const bodyBytes = (body: Uint8Array | null | undefined) => body && Uint8Array.from(body);
