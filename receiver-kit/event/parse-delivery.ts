// A delivery can be genuine and still be of no use: its bytes are not text, the text is not JSON, a field is
// missing. Refusing it would make the sender repeat it for days and then lose it; running it would make handlers
// meet what their types exclude. So it is kept as it came, acknowledged, shown, and can be replayed once the
// receiver understands it. An event far in the future goes the same way: as a head it would silence its task for good.

import { parseEvent, type WebhookEvent } from "../../sdk/events/index.ts";
import { type EventColumns, emptyColumns } from "./event-columns.ts";
import { type EventOrder, encodePosition, eventOrder, orderKey } from "./event-order.ts";

export type ParsedDelivery =
  | { readonly ok: true; readonly event: WebhookEvent; readonly columns: EventColumns }
  /** The columns still name the task when the body does, so that it can be reconciled. */
  | { readonly ok: false; readonly reason: string; readonly columns: EventColumns };

/** Reads a verified body as an event. Never throws; the reason names what is wrong, never what was found. */
export function parseDelivery(body: Uint8Array, nowMs: number): ParsedDelivery {
  const text = decodeUtf8(body);
  if (text === undefined) return unusable("body is not UTF-8");
  const value = parseJson(text);
  if (value === undefined) return unusable("body is not JSON");
  const parsed = parseEvent(value);
  if (!parsed.ok) {
    const issue = parsed.issues[0];
    return unusable(`${issue?.path || "body"}: ${issue?.message ?? "is not an event"}`, value);
  }
  const order = eventOrder(parsed.event);
  if (order && order.position.occurredAt > nanoseconds(nowMs + futureMaxMs)) {
    return unusable("occurredAt is more than 10 minutes in the future", value);
  }
  return { ok: true, event: parsed.event, columns: columnsOf(parsed.event.event, order) };
}

const futureMaxMs = 10 * 60_000;

const nanoseconds = (ms: number) => BigInt(Math.round(ms)) * 1_000_000n;

// A byte order mark is kept, so that JSON refuses it: stripped, two different bodies would read alike.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    // The decoder throws on the first byte sequence that is not UTF-8; that is the answer.
    return undefined;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON, or nested deeper than the parser goes.
    return undefined;
  }
}

function unusable(reason: string, value?: unknown): ParsedDelivery {
  return { ok: false, reason: reason.slice(0, 300), columns: findColumns(value) };
}

function findColumns(value: unknown): EventColumns {
  if (typeof value !== "object" || value === null) return emptyColumns;
  const { event, taskId, subTaskId } = value as Record<string, unknown>;
  const ids = [taskId, subTaskId].filter((id) => typeof id === "string" && id !== "");
  return {
    ...emptyColumns,
    event: typeof event === "string" ? printable(event) : null,
    orderKey: typeof taskId === "string" && taskId !== "" ? orderKey(ids as string[]) : null,
  };
}

function columnsOf(name: string, order: EventOrder | undefined): EventColumns {
  if (!order) return { ...emptyColumns, event: printable(name) };
  return {
    event: printable(name),
    orderKey: order.key,
    position: encodePosition(order.position),
    status: order.status,
  };
}

/** Databases cannot keep every text that JSON can; the column is for people, the body stays whole. */
function printable(name: string): string | null {
  return /^[\x20-\x7e]{1,200}$/.test(name) ? name : null;
}
