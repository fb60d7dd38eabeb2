// A delivery can be genuine and still unusable: its bytes are not text, the text is not JSON, a field is missing.
// Rejected, it would be sent again for days and then be lost; handled, it would break the types of the handlers. So it
// is stored as received, acknowledged and listed, and can be replayed once the receiver understands it. So is an event
// far in the future: as an ordering head it would make every later event of its task stale.

import { parseEvent, type WebhookEvent } from "@workspace-tasks/events";
import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import { type EventColumns, emptyColumns, eventOrder, isFarFuture, orderKey } from "./event-order.ts";

export type ParsedDelivery = {
  /** The workspace that the body names, whatever its type, also where the body is no event. */
  readonly workspace: unknown;
  /** They still name the task of a body that is no event, where it does, so that it can be reconciled. */
  readonly columns: EventColumns;
} & ({ readonly ok: true; readonly event: WebhookEvent } | { readonly ok: false; readonly reason: string });

/**
 * Parses a verified body as an event. Never throws; the reason names what is wrong and never repeats the input.
 *
 * @param ofTenant whether its secret is that of a tenant, whose events have to name a workspace: one that names none cannot be
 *   compared with that of the tenant
 */
export function parseDelivery(body: Uint8Array, nowMs: number, ofTenant = false): ParsedDelivery {
  const parsed = parseBody(body);
  const workspace = namedWorkspace(parsed.value);
  if (!parsed.ok) return { ok: false, reason: parsed.reason, workspace, columns: findColumns(parsed.value) };
  const { event } = parsed;
  if (ofTenant && (workspace === undefined || workspace === null)) {
    const reason = "workspaceId: expected the workspace of the tenant, got none";
    return { ok: false, reason, workspace, columns: findColumns(event) };
  }
  const order = eventOrder(event);
  if (order && isFarFuture(order.occurredAt, nowMs)) {
    const reason = "occurredAt is more than 10 minutes in the future";
    return { ok: false, reason, workspace, columns: findColumns(event) };
  }
  const { key: orderKey = null, position = null, status = null } = order ?? {};
  const workspaceId = workspaceIdOf(workspace);
  return {
    ok: true,
    event,
    workspace,
    columns: { event: printable(event.event), orderKey, position, status, workspaceId },
  };
}

/** `value`: the JSON; `undefined` when it is none. */
export type ParsedBody = { readonly value: unknown } & (
  | { readonly ok: true; readonly event: WebhookEvent }
  | { readonly ok: false; readonly reason: string }
);

/** The event alone, also where its time is far in the future. Never throws. */
export function parseBody(body: Uint8Array): ParsedBody {
  const text = decodeUtf8(body);
  if (text === undefined) return unusable("body is not UTF-8");
  const value = jsonOrUndefined(text);
  if (value === undefined) return unusable("body is not JSON");
  const parsed = parseEvent(value);
  if (parsed.ok) return { ok: true, event: parsed.event, value };
  const issue = parsed.issues[0];
  return unusable(`${issue?.path || "body"}: ${issue?.message ?? "is not an event"}`, value);
}

/** The JSON of a body, which may be no event; `undefined` when it is none. Never throws. */
export function readJson(body: Uint8Array): unknown {
  return jsonOrUndefined(decodeUtf8(body) ?? "");
}

// A byte order mark is kept, so that JSON rejects it: without it, two different bodies would parse alike.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Undefined for bytes that are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    // Not UTF-8: the result is undefined.
    return undefined;
  }
}

function unusable(reason: string, value?: unknown): ParsedBody {
  return { ok: false, reason: reason.slice(0, 300), value };
}

function findColumns(value: unknown): EventColumns {
  if (typeof value !== "object" || value === null) return emptyColumns;
  const { event, taskId, subTaskId, workspaceId } = value as Record<string, unknown>;
  const isId = (id: unknown): id is string => typeof id === "string" && id !== "";
  return {
    ...emptyColumns,
    event: typeof event === "string" ? printable(event) : null,
    orderKey: isId(taskId) ? orderKey([taskId, subTaskId].filter(isId)) : null,
    workspaceId: workspaceIdOf(workspaceId),
  };
}

export const namedWorkspace = (value: unknown): unknown =>
  (value as { readonly workspaceId?: unknown } | null | undefined)?.workspaceId;

export const namedClient = (value: unknown): unknown =>
  (value as { readonly clientId?: unknown } | null | undefined)?.clientId;

const workspaceIdOf = (id: unknown) => (typeof id === "string" ? printable(id) : null);

/** Databases cannot store every text that JSON can. The column is for people; the body stays complete. */
function printable(name: string): string | null {
  return /^[\x20-\x7e]{1,200}$/.test(name) ? name : null;
}
