// The order of events: one register per key that only the newest event moves.
//
// Deliveries arrive late, twice and in any order, so the order of arrival means nothing. Every task, and every stage
// of a task, has one ordering head: the position of the newest event applied so far. Positions are totally ordered and
// depend on the event alone; taking the maximum is commutative, associative and idempotent; so every order of arrival
// of the same events, repeated or not, ends in the same state.

import { createHash } from "node:crypto";
import { isSubtaskEvent, isTaskEvent, parseOccurredAt, type WebhookEvent } from "@workspace-tasks/events";

/** A place in the order of a key. Positions compare field by field, in this order. */
export interface OrderPosition {
  /** Nanoseconds since the epoch, from the text of `occurredAt`. */
  readonly occurredAt: bigint;
  /** Breaks a tie of `occurredAt`: a terminal status outranks a running one. */
  readonly rank: number;
  /** Breaks the last tie, by bytes: the id of the event. */
  readonly id: string;
}

interface EventOrder {
  /** `["taskId"]` or `["taskId","subTaskId"]`: JSON, so that no id can be mistaken for a pair of ids. */
  readonly key: string;
  readonly occurredAt: bigint;
  /** The encoded `OrderPosition`. */
  readonly position: string;
  /** The status that the event reports; the head keeps it, so that tasks left running can be found. */
  readonly status: string;
}

/**
 * Key and position of an event; `undefined` for events that report no state.
 *
 * A stage has its own key: its events and those of its task do not affect each other.
 *
 * @see interface §6, "Events may be delayed or out of order"
 */
export function eventOrder(event: WebhookEvent): EventOrder | undefined {
  if (!isTaskEvent(event) && !isSubtaskEvent(event)) return undefined;
  const occurredAt = parseOccurredAt(event.occurredAt);
  if (occurredAt === undefined) return undefined;
  return {
    key: orderKey(isSubtaskEvent(event) ? [event.taskId, event.subTaskId] : [event.taskId]),
    occurredAt,
    position: encodePosition({ occurredAt, rank: statusRank(event.status), id: event.id }),
    status: event.status,
  };
}

/** The key as text that every database can index, unique for ids of any length and any characters. */
export function orderKey(ids: readonly string[]): string {
  const text = JSON.stringify(ids);
  // Three, so that it is no key of one id or of two.
  return text.length <= keyLengthMax ? text : JSON.stringify(["", "", sha256(text)]);
}

// PostgreSQL rejects index entries above about 2,700 bytes.
const keyLengthMax = 500;

/** A terminal status outranks a running one at the same instant. */
export function statusRank(status: string): number {
  return status === "RUNNING" ? 0 : 1;
}

/**
 * A position as text whose byte order is the order of positions, so that one comparison decides in SQL, in memory and
 * in an index. Nanoseconds since 1970 exceed 64 bits in 2262 and would lose digits in a double; as shifted, padded
 * decimals they are exact for the years 0000 to 9999.
 */
export function encodePosition({ occurredAt, rank, id }: OrderPosition): string {
  return `${(occurredAt + epochShift).toString().padStart(21, "0")}.${rank}.${comparableId(id)}`;
}

const epochShift = 100_000_000_000_000_000_000n;

/** Time and rank of an encoded position. */
export function decodePosition(position: string): Omit<OrderPosition, "id"> {
  const [instant = "0", rank = "0"] = position.split(".", 2);
  return { occurredAt: BigInt(instant) - epochShift, rank: Number(rank) };
}

/** An instant as RFC 3339 text, with more digits than milliseconds only where it has them. */
export function formatInstant(occurredAt: bigint): string {
  const fraction = ((occurredAt % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  const second = new Date(Number((occurredAt - fraction) / 1_000_000n)).toISOString().slice(0, 19);
  return `${second}.${fraction.toString().padStart(9, "0").replace(/0{6}$/, "")}Z`;
}

/**
 * True for a time that clocks cannot explain. As an ordering head it would make every later event of its task stale.
 */
export function isFarFuture(occurredAt: bigint, nowMs: number): boolean {
  if (!Number.isFinite(nowMs)) return false;
  return occurredAt > BigInt(Math.round(nowMs + futureMaxMs)) * 1_000_000n;
}

const futureMaxMs = 10 * 60_000;

/**
 * SQL compares bytes and JavaScript UTF-16 units; printable ASCII is the same in both, the rest is hashed, and so is what looks
 * like a hash.
 */
function comparableId(id: string): string {
  return /^(?!~[0-9a-f]{64}$)[\x21-\x7e]{1,200}$/.test(id) ? id : hashedId(id);
}

/** A key for the events of a source that differs for each pair of source and id. Those of ordinary ids can be read. */
export function idempotencyKey(source: string, id: string): string {
  // Neither has a colon, which a source may have.
  return `${source}:${/^[A-Za-z0-9._-]{1,200}$/.test(id) ? id : hashedId(id)}`;
}

/** JSON, because in UTF-8 all halves of a surrogate pair are the same. */
const hashedId = (id: string) => `~${sha256(JSON.stringify(id))}`;

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** The columns by which a row is found and ordered; derived from the body, `null` where the body has no such thing. */
export interface EventColumns {
  /** Name of the event when it is printable text, else `null`. */
  readonly event: string | null;
  /** Key of the ordering head. */
  readonly orderKey: string | null;
  /** Position in the order of the key, as text that compares by bytes. */
  readonly position: string | null;
  /** The status that the event reports. */
  readonly status: string | null;
  /** The workspace that the event names. */
  readonly workspaceId: string | null;
}

export const emptyColumns: EventColumns = {
  event: null,
  orderKey: null,
  position: null,
  status: null,
  workspaceId: null,
};
