// How SQLite stores what core.ts asks for, by prepared statements, which read no more columns than they need: each costs a
// driver about half a microsecond. SQLite has one writer and needs no row locks. It has no
// statistics either: where it could choose another index, INDEXED BY names the right one.

import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import { bytesOf } from "@workspace-tasks/kernel/realm.ts";
import type {
  ClaimedDelivery,
  Delivery,
  DueKey,
  DueTimes,
  FoundKey,
  Head,
  KeyLease,
  QueuedRow,
  QueuePlace,
  Storage,
} from "../core/storage.ts";
import type { InboxLease, InboxRowReference, NewInboxRow } from "../inbox.ts";
import type { SqliteConnection, SqliteValue } from "./sqlite-driver.ts";
import { sqliteTables } from "./sqlite-migrations.ts";

const { deliveries, bodies, keys, queue } = sqliteTables;
const wakeIndex = `${keys} INDEXED BY workspace_tasks_ordering_keys_wake`;

const insertDelivery = `
  INSERT INTO ${deliveries}
    (source, webhook_id, channel, event, order_key, position, status, workspace, signed_at, received_at, outcome,
     last_error, secret_index, traceparent)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
  ON CONFLICT (source, webhook_id) DO NOTHING`;

const insertBody = `INSERT INTO ${bodies} (seq, body) VALUES (?1, ?2)`;

const compareBody = `
  SELECT body = ?3 AS same FROM ${deliveries} LEFT JOIN ${bodies} USING (seq) WHERE source = ?1 AND webhook_id = ?2`;

/** As `Delivery` names them. */
export const deliveryColumns = `
    delivery.seq, delivery.source, delivery.webhook_id AS id, delivery.channel, delivery.event,
    delivery.order_key AS orderKey, delivery.position, delivery.status, delivery.workspace AS workspaceId,
    delivery.signed_at AS timestamp, delivery.received_at AS receivedAtMs, delivery.secret_index AS secretIndex,
    delivery.traceparent, delivery.outcome, delivery.attempts, delivery.last_error AS lastError, delivery.replays,
    delivery.replayed_at AS replayedAtMs, delivery.lease_until AS leaseUntilMs, delivery.generation`;

const findDelivery = `
  SELECT ${deliveryColumns} FROM ${deliveries} AS delivery WHERE source = ?1 AND webhook_id = ?2`;

const readDelivery = `
  SELECT delivery.seq, source, webhook_id AS id, channel, event, order_key AS orderKey, position, status,
    workspace AS workspaceId, signed_at AS timestamp, received_at AS receivedAtMs, secret_index AS secretIndex,
    traceparent, replays, body.body
  FROM ${deliveries} AS delivery LEFT JOIN ${bodies} AS body ON body.seq = delivery.seq
  WHERE delivery.seq = ?1`;

const columnOf: Readonly<Partial<Record<keyof Delivery, string>>> = {
  ...{
    event: "event",
    orderKey: "order_key",
    position: "position",
    status: "status",
    workspaceId: "workspace",
  },
  ...{ outcome: "outcome", attempts: "attempts", lastError: "last_error", replays: "replays" },
  ...{ replayedAtMs: "replayed_at", leaseUntilMs: "lease_until", generation: "generation" },
};

const findKey = `
  SELECT id, position, status, moved_at AS movedAtMs, waiting, wake_at AS wakeAtMs, worker IS NOT NULL AS isLeased
  FROM ${keys} WHERE source = ?1 AND order_key = ?2`;
const insertKey = `
  INSERT INTO ${keys} (source, order_key, workspace, position, status, moved_at, waiting, wake_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`;
// What a statement does not name it does not write in an index either.
const saveWaiting = `UPDATE ${keys} SET waiting = ?2, wake_at = ?3, workspace = coalesce(?4, workspace) WHERE id = ?1`;
const saveHead = `UPDATE ${keys} SET position = ?2, status = ?3, moved_at = ?4 WHERE id = ?1`;
const saveWake = `UPDATE ${keys} SET wake_at = ?2 WHERE id = ?1`;
const deleteKey = `DELETE FROM ${keys} WHERE id = ?1`;

const leaseKey = `UPDATE ${keys} SET worker = ?2, generation = ?3, claimed = ?4, wake_at = ?5 WHERE id = ?1`;
const selectLease = `
  SELECT position, waiting, wake_at AS wakeAtMs, claimed, suspects FROM ${keys} WHERE id = ?1`;
const readLease = `${selectLease} AND worker = ?2 AND generation = ?3`;
const ended = "waiting = ?2, wake_at = ?3, claimed = ?4, suspects = ?5";
const freed = `${ended}, worker = NULL`;
const advanced = "position = ?6, status = ?7, moved_at = ?8";
const saveLease = {
  held: `UPDATE ${keys} SET ${ended} WHERE id = ?1`,
  freed: `UPDATE ${keys} SET ${freed} WHERE id = ?1`,
  heldAdvanced: `UPDATE ${keys} SET ${ended}, ${advanced} WHERE id = ?1`,
  freedAdvanced: `UPDATE ${keys} SET ${freed}, ${advanced} WHERE id = ?1`,
};

const dueColumns = "id, position, generation, suspects, worker IS NOT NULL AS isLeased";
/** Those that are due further ahead than any delay, which are rare, are found apart. */
const dueKeys = `
  SELECT ${dueColumns} FROM ${wakeIndex}
  WHERE source = ?1 AND wake_at IS NOT NULL AND wake_at <= ?2 ORDER BY wake_at, id LIMIT ?3`;
const keysAhead = `
  SELECT ${dueColumns} FROM ${wakeIndex}
  WHERE source = ?1 AND wake_at IS NOT NULL AND wake_at > ?2 ORDER BY wake_at, id LIMIT ?3`;
const nextWake = `
  SELECT min(wake_at) AS at FROM ${wakeIndex} WHERE source = ?1 AND wake_at IS NOT NULL AND wake_at > ?2`;

const enqueue = `
  INSERT INTO ${queue} (key_id, position, seq, due_at, attempts, body_bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`;
const place = "key_id = ?1 AND position = ?2 AND seq = ?3";
const dequeue = `DELETE FROM ${queue} WHERE ${place}`;
const saveQueued = `UPDATE ${queue} SET due_at = ?4, attempts = ?5, last_error = ?6 WHERE ${place}`;
const queuedColumns =
  "key_id AS keyId, position, seq, due_at AS dueAtMs, attempts, body_bytes AS bodyBytes, last_error AS lastError";
const findQueued = `SELECT ${queuedColumns} FROM ${queue} WHERE ${place}`;
const firstRows = `SELECT ${queuedColumns} FROM ${queue} WHERE key_id = ?1 ORDER BY position, seq LIMIT ?2`;
const firstDueRows = `
  SELECT ${queuedColumns} FROM ${queue} WHERE key_id = ?1 AND (due_at <= ?3 OR due_at > ?4)
  ORDER BY position, seq LIMIT ?2`;
const nextDue = `SELECT min(due_at) AS at FROM ${queue} WHERE key_id = ?1`;

const storages = new WeakMap<SqliteConnection, Storage>();

export const storageOf = (connection: SqliteConnection): Storage =>
  getOrCreate(storages, connection, () => new SqliteStorage(connection));

class SqliteStorage implements Storage {
  readonly #connection: SqliteConnection;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  addDelivery(row: NewInboxRow, outcome: Delivery["outcome"], nowMs: number): number | undefined {
    const seq = this.#connection.insertPrepared(insertDelivery, [
      row.source,
      row.id,
      row.channel,
      row.event,
      row.orderKey,
      row.position,
      row.status,
      row.workspaceId,
      row.timestamp,
      nowMs,
      outcome,
      row.quarantine,
      row.secretIndex,
      row.traceparent,
    ]);
    if (seq !== undefined) this.#connection.changePrepared(insertBody, [seq, row.body]);
    return seq;
  }

  findDelivery({ source, id }: InboxRowReference): Delivery | undefined {
    return this.#first<Delivery>(findDelivery, [source, id]);
  }

  readDelivery(seq: number): ClaimedDelivery | undefined {
    const row = this.#first<ClaimedDelivery>(readDelivery, [seq]);
    return row && Object.assign(row, { body: toBytes(row.body) });
  }

  changeDelivery(seq: number, fields: Partial<Delivery>): void {
    const names = Object.keys(fields) as (keyof Delivery)[];
    const changes = names.map((name, index) => `${columnOf[name]} = ?${index + 2}`);
    const values = names.map((name) => fields[name] as SqliteValue);
    this.#connection.changePrepared(`UPDATE ${deliveries} SET ${changes.join(", ")} WHERE seq = ?1`, [
      seq,
      ...values,
    ]);
  }

  compareBody({ source, id, body }: Pick<NewInboxRow, "source" | "id" | "body">): boolean | null {
    const same = this.#first<{ same: unknown }>(compareBody, [source, id, body])?.same;
    return same === null || same === undefined ? null : Number(same) === 1;
  }

  bodyBytes(seq: number): number | null {
    const found = this.#first<{ bytes: number }>(
      `SELECT length(body) AS bytes FROM ${bodies} WHERE seq = ?1`,
      [seq],
    );
    return found?.bytes ?? null;
  }

  findKey(source: string, name: string): FoundKey | undefined {
    const row = this.#first<FoundRow>(findKey, [source, name]);
    if (!row) return undefined;
    const { id, position, status, movedAtMs, waiting, wakeAtMs } = row;
    const head = position === null ? null : { position, status, movedAtMs };
    return { id, head, waiting, wakeAtMs, isLeased: row.isLeased === 1 };
  }

  addKey(
    source: string,
    name: string,
    workspaceId: string | null,
    { head, waiting, wakeAtMs }: Omit<FoundKey, "id" | "isLeased">,
  ): number {
    const { position = null, status = null, movedAtMs = null } = head ?? {};
    const values = [source, name, workspaceId, position, status, movedAtMs, waiting, wakeAtMs];
    return Number(this.#connection.insertPrepared(insertKey, values));
  }

  saveWaiting(
    id: number,
    { waiting, wakeAtMs }: Pick<FoundKey, "waiting" | "wakeAtMs">,
    workspaceId: string | null,
  ): void {
    this.#connection.changePrepared(saveWaiting, [id, waiting, wakeAtMs, workspaceId]);
  }

  saveHead(id: number, { position, status, movedAtMs }: Head): void {
    this.#connection.changePrepared(saveHead, [id, position, status, movedAtMs]);
  }

  saveWake(id: number, wakeAtMs: number | null): void {
    this.#connection.changePrepared(saveWake, [id, wakeAtMs]);
  }

  deleteKey(id: number): void {
    this.#connection.changePrepared(deleteKey, [id]);
  }

  leaseKey(id: number, { worker, generation, claimed, wakeAtMs }: Parameters<Storage["leaseKey"]>[1]): void {
    this.#connection.changePrepared(leaseKey, [id, worker, generation, listOf(claimed), wakeAtMs]);
  }

  readLease({ keyId, worker, generation }: Omit<InboxLease, "openRows">): KeyLease | undefined {
    return toLease(this.#first<LeaseRow>(readLease, [keyId, worker, generation]));
  }

  readExpiredLease(id: number): KeyLease | undefined {
    return toLease(this.#first<LeaseRow>(selectLease, [id]));
  }

  saveLease(
    id: number,
    { waiting, wakeAtMs, claimed, suspects }: Omit<KeyLease, "position">,
    head: Head | null,
  ): void {
    const lease = [id, waiting, wakeAtMs, listOf(claimed), suspects];
    const isFree = claimed.length === 0;
    if (!head) this.#connection.changePrepared(isFree ? saveLease.freed : saveLease.held, lease);
    else {
      const values = [...lease, head.position, head.status, head.movedAtMs];
      this.#connection.changePrepared(isFree ? saveLease.freedAdvanced : saveLease.heldAdvanced, values);
    }
  }

  dueKeys(source: string, { nowMs, aheadMs }: DueTimes, limit: number): readonly DueKey[] {
    const ahead = this.#connection.queryPrepared(keysAhead, [source, aheadMs, limit]);
    const due = this.#connection.queryPrepared(dueKeys, [source, nowMs, limit - ahead.length]);
    return [...ahead, ...due].map((row) => ({
      ...(row as unknown as DueKey),
      isLeased: row["isLeased"] === 1,
    }));
  }

  nextWakeMs(source: string, { nowMs }: DueTimes): number | null {
    return this.#first<{ at: number | null }>(nextWake, [source, nowMs])?.at ?? null;
  }

  enqueue({ keyId, position, seq, dueAtMs, attempts, bodyBytes }: QueuedRow): void {
    this.#connection.changePrepared(enqueue, [keyId, position, seq, dueAtMs, attempts, bodyBytes]);
  }

  dequeue({ keyId, position, seq }: QueuePlace): void {
    this.#connection.changePrepared(dequeue, [keyId, position, seq]);
  }

  saveQueued({ keyId, position, seq, dueAtMs, attempts, lastError }: Omit<QueuedRow, "bodyBytes">): void {
    this.#connection.changePrepared(saveQueued, [keyId, position, seq, dueAtMs, attempts, lastError]);
  }

  findQueued({ keyId, position, seq }: QueuePlace): QueuedRow | undefined {
    return this.#first<QueuedRow>(findQueued, [keyId, position, seq]);
  }

  firstRows(keyId: number, limit: number, due: DueTimes | null): readonly QueuedRow[] {
    if (limit === 1 && due === null) {
      const row = this.#first<QueuedRow>(firstRows, [keyId, 1]);
      return row ? [row] : [];
    }
    const found = due
      ? this.#connection.queryPrepared(firstDueRows, [keyId, limit, due.nowMs, due.aheadMs])
      : this.#connection.queryPrepared(firstRows, [keyId, limit]);
    return found as unknown as readonly QueuedRow[];
  }

  nextDueMs(keyId: number): number | null {
    return this.#first<{ at: number | null }>(nextDue, [keyId])?.at ?? null;
  }

  #first<Row>(statement: string, values: readonly SqliteValue[]): Row | undefined {
    return this.#connection.firstPrepared(statement, values) as unknown as Row | undefined;
  }
}

interface FoundRow extends Pick<FoundKey, "id" | "waiting" | "wakeAtMs"> {
  readonly position: string | null;
  readonly status: string | null;
  readonly movedAtMs: number;
  readonly isLeased: number;
}

type LeaseRow = Omit<KeyLease, "claimed"> & { readonly claimed: string | null };

function toLease(row: LeaseRow | undefined): KeyLease | undefined {
  if (!row) return undefined;
  const { position, waiting, wakeAtMs, suspects } = row;
  const claimed = row.claimed === null ? [] : row.claimed.slice(1, -1).split(",").map(Number);
  return { position, waiting, wakeAtMs, claimed, suspects };
}

/** With a comma around each, so that one of them is found in the text. */
const listOf = (seqs: readonly number[]) => (seqs.length === 0 ? null : `,${seqs.join()},`);

/** Drivers differ: Buffer, Uint8Array or ArrayBuffer. */
export function toBytes(value: unknown): Uint8Array | null {
  return bytesOf(value) ?? null;
}
