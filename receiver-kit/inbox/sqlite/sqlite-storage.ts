// How SQLite stores what core.ts asks for, by prepared statements, which read no more columns than they need. A claim reads
// its rows with one statement, and their bodies with another. SQLite has one writer and needs no row locks. It has no
// statistics either: where it could choose another index, INDEXED BY names the right one.

import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import { bytesOf } from "@workspace-tasks/kernel/realm.ts";
import type {
  Delivery,
  DueKey,
  DueLimits,
  DueTimes,
  Key,
  KeyFields,
  QueuedRow,
  QueuePlace,
  Storage,
  WaitingRow,
} from "../core/storage.ts";
import type { DeliveryChannel, InboxRowReference, NewInboxRow } from "../inbox.ts";
import type { SqliteColumns, SqliteConnection, SqliteValue } from "./sqlite-driver.ts";
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
  SELECT body = ?3 FROM ${deliveries} LEFT JOIN ${bodies} USING (seq) WHERE source = ?1 AND webhook_id = ?2`;

/** As `Delivery` names them. */
const deliveryColumns = `
    delivery.seq, delivery.source, delivery.webhook_id AS id, delivery.channel, delivery.event,
    delivery.order_key AS orderKey, delivery.position, delivery.status, delivery.workspace AS workspaceId,
    delivery.signed_at AS timestamp, delivery.received_at AS receivedAtMs, delivery.secret_index AS secretIndex,
    delivery.traceparent, delivery.outcome, delivery.attempts, delivery.last_error AS lastError, delivery.replays,
    delivery.replayed_at AS replayedAtMs, delivery.died_at AS diedAtMs, delivery.lease_until AS leaseUntilMs, delivery.generation`;

const findDelivery = `
  SELECT ${deliveryColumns} FROM ${deliveries} AS delivery WHERE source = ?1 AND webhook_id = ?2`;
const readDelivery = `SELECT ${deliveryColumns} FROM ${deliveries} AS delivery WHERE seq = ?1`;
const readBodies = `SELECT seq, body FROM ${bodies} WHERE seq IN (SELECT value FROM json_each(?1))`;

const deliveryColumnOf: Readonly<Partial<Record<keyof Delivery, string>>> = {
  event: "event",
  orderKey: "order_key",
  position: "position",
  status: "status",
  workspaceId: "workspace",
  outcome: "outcome",
  attempts: "attempts",
  lastError: "last_error",
  replays: "replays",
  replayedAtMs: "replayed_at",
  diedAtMs: "died_at",
  leaseUntilMs: "lease_until",
  generation: "generation",
};

const keyColumnOf: Readonly<Record<keyof KeyFields, string>> = {
  id: "id",
  workspaceId: "workspace",
  position: "head",
  status: "status",
  movedAtMs: "moved_at",
  waiting: "waiting",
  wakeAtMs: "wake_at",
  worker: "worker",
  generation: "generation",
  claimed: "claimed",
  suspects: "suspects",
};

const selectKey = `SELECT id, head, waiting, wake_at, worker, generation, claimed, suspects FROM ${keys}`;
const findKey = `${selectKey} WHERE source = ?1 AND order_key = ?2`;
const readKey = `${selectKey} WHERE id = ?1`;
const insertKey = `
  INSERT INTO ${keys} (source, order_key, workspace, head, status, moved_at, waiting, wake_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`;
const deleteKey = `DELETE FROM ${keys} WHERE id = ?1`;

/** The texts that change fields by their names: what one does not name it does not write in an index either. */
function updates<Field extends string>(
  table: string,
  numbered: string,
  columnOf: Readonly<Partial<Record<Field, string>>>,
) {
  const texts = new Map<string, string>();
  return (fields: readonly Field[]) =>
    getOrCreate(texts, fields.join(), () => {
      const changes = fields.map((field, index) => `${columnOf[field]} = ?${index + 2}`);
      return `UPDATE ${table} SET ${changes.join(", ")} WHERE ${numbered} = ?1`;
    });
}

const updateDelivery = updates(deliveries, "seq", deliveryColumnOf);
const updateKey = updates(keys, "id", keyColumnOf);

const dueRows = (woken: string, rowFilter: string) => `
  SELECT key.id, key.head, key.generation, key.suspects, key.worker, queued.seq, queued.due_at,
    queued.attempts, queued.body_bytes, queued.last_error, delivery.webhook_id, delivery.channel, delivery.event,
    delivery.order_key, delivery.position, delivery.status, delivery.workspace, delivery.signed_at, delivery.received_at,
    delivery.secret_index, delivery.traceparent, delivery.replays
  FROM ${keys} AS key INDEXED BY workspace_tasks_ordering_keys_wake
  LEFT JOIN ${queue} AS queued ON key.worker IS NULL AND queued.key_id = key.id
    AND (queued.position, queued.seq) IN (
      SELECT position, seq FROM ${queue} AS own WHERE own.key_id = key.id ${rowFilter} ORDER BY position, seq LIMIT ?5)
  LEFT JOIN ${deliveries} AS delivery ON delivery.seq = queued.seq
  WHERE key.source = ?1 AND key.wake_at IS NOT NULL AND ${woken}
  ORDER BY key.wake_at, key.id, queued.position, queued.seq LIMIT ?4`;
const statementsOfDue = (rowFilter: string) => ({
  reached: dueRows("key.wake_at <= ?2", rowFilter),
  /** Those that are due further ahead than any delay, which are rare, are found apart. */
  ahead: dueRows("key.wake_at > ?3", rowFilter),
});
const dueOnly = statementsOfDue("AND (own.due_at <= ?2 OR own.due_at > ?3)");
const dueOrNot = statementsOfDue("AND ?2 <= ?3");
const nextWake = `
  SELECT min(wake_at) FROM ${wakeIndex} WHERE source = ?1 AND wake_at IS NOT NULL AND wake_at > ?2`;

const enqueue = `
  INSERT INTO ${queue} (key_id, position, seq, due_at, attempts, body_bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`;
const place = "key_id = ?1 AND position = ?2 AND seq = ?3";
const dequeue = `DELETE FROM ${queue} WHERE ${place}`;
const saveQueued = `UPDATE ${queue} SET due_at = ?4, attempts = ?5, last_error = ?6 WHERE ${place}`;
const queuedColumns =
  "key_id AS keyId, position, seq, due_at AS dueAtMs, attempts, body_bytes AS bodyBytes, last_error AS lastError";
const findQueued = `SELECT ${queuedColumns} FROM ${queue} WHERE ${place}`;
const nextDue = `SELECT min(due_at) FROM ${queue} WHERE key_id = ?1`;

export class SqliteStorage implements Storage {
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
    return this.#query<Delivery>(findDelivery, [source, id])[0];
  }

  readDelivery(seq: number): Delivery | undefined {
    return this.#query<Delivery>(readDelivery, [seq])[0];
  }

  readBodies(seqs: readonly number[]): ReadonlyMap<number, Uint8Array> {
    const found = new Map<number, Uint8Array>();
    if (seqs.length === 0) return found;
    for (const [seq, body] of this.#connection.rowsPrepared(readBodies, [JSON.stringify(seqs)])) {
      // Drivers differ: Buffer, Uint8Array or ArrayBuffer.
      const bytes = bytesOf(body);
      if (bytes) found.set(Number(seq), bytes);
    }
    return found;
  }

  changeDelivery(seq: number, fields: Partial<Delivery>): void {
    const names = Object.keys(fields) as (keyof Delivery)[];
    const values = names.map((name) => fields[name] as SqliteValue);
    this.#connection.changePrepared(updateDelivery(names), [seq, ...values]);
  }

  compareBody({ source, id, body }: Pick<NewInboxRow, "source" | "id" | "body">): boolean | null {
    const [same = null] = this.#connection.firstPrepared(compareBody, [source, id, body]) ?? [];
    return same === null ? null : Number(same) === 1;
  }

  findKey(source: string, name: string): Key | undefined {
    return toKey(this.#connection.firstPrepared(findKey, [source, name]));
  }

  readKey(id: number): Key | undefined {
    return toKey(this.#connection.firstPrepared(readKey, [id]));
  }

  addKey(source: string, name: string, key: Omit<KeyFields, "id">): number {
    const { workspaceId, position, status, movedAtMs, waiting, wakeAtMs } = key;
    const values = [source, name, workspaceId, position, status, movedAtMs, waiting, wakeAtMs];
    return Number(this.#connection.insertPrepared(insertKey, values));
  }

  changeKey(id: number, fields: Partial<KeyFields>): void {
    const names = Object.keys(fields) as (keyof KeyFields)[];
    const values: SqliteValue[] = [id];
    for (const name of names) {
      const value = fields[name];
      values.push(typeof value === "object" && value !== null ? listOf(value) : (value as SqliteValue));
    }
    this.#connection.changePrepared(updateKey(names), values);
  }

  deleteKey(id: number): void {
    this.#connection.changePrepared(deleteKey, [id]);
  }

  dueKeys(source: string, due: DueTimes, limits: DueLimits): readonly DueKey[] {
    const { reached, ahead } = limits.isStrict ? dueOrNot : dueOnly;
    const values = [source, due.nowMs, due.aheadMs, limits.rowsMax, limits.rowsPerKeyMax];
    const rows = [ahead, reached].flatMap((statement) => this.#connection.rowsPrepared(statement, values));
    const found: (DueKey & { readonly rows: WaitingRow[] })[] = [];
    for (const row of rows.slice(0, limits.rowsMax) as unknown as readonly DueColumns[]) {
      const [id, position, generation, suspects, worker] = row;
      if (found.at(-1)?.id !== id) found.push({ id, position, generation, suspects, worker, rows: [] });
      if (row[5] !== null) found.at(-1)?.rows.push(toWaitingRow(source, row));
    }
    return found;
  }

  nextWakeMs(source: string, { nowMs }: DueTimes): number | null {
    return this.#number(nextWake, [source, nowMs]);
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
    return this.#query<QueuedRow>(findQueued, [keyId, position, seq])[0];
  }

  nextDueMs(keyId: number): number | null {
    return this.#number(nextDue, [keyId]);
  }

  #query<Row>(statement: string, values: readonly SqliteValue[]): readonly Row[] {
    return this.#connection.query(statement, values) as unknown as readonly Row[];
  }

  #number(statement: string, values: readonly SqliteValue[]): number | null {
    return (this.#connection.firstPrepared(statement, values)?.[0] ?? null) as number | null;
  }
}

/** Those of a row are `null` of a key without one. */
type DueColumns = readonly [
  ...key: [id: number, position: string | null, generation: number, suspects: number, worker: string | null],
  ...queued: [
    seq: number | null,
    dueAtMs: number,
    attempts: number,
    bodyBytes: number,
    lastError: string | null,
  ],
  ...delivery: [id: string, channel: DeliveryChannel, event: string | null, orderKey: string | null],
  ...event: [position: string | null, status: string | null, workspaceId: string | null],
  ...signed: [timestamp: number, receivedAtMs: number, secretIndex: number | null],
  ...traced: [traceparent: string | null, replays: number],
];

function toWaitingRow(source: string, row: DueColumns): WaitingRow {
  return {
    source,
    seq: Number(row[5]),
    dueAtMs: row[6],
    attempts: row[7],
    bodyBytes: row[8],
    lastError: row[9],
    id: row[10],
    channel: row[11],
    event: row[12],
    orderKey: row[13],
    position: row[14],
    status: row[15],
    workspaceId: row[16],
    timestamp: row[17],
    receivedAtMs: row[18],
    secretIndex: row[19],
    traceparent: row[20],
    replays: row[21],
  };
}

/** As `selectKey` reads it. */
type KeyColumns = readonly [
  ...ordered: [id: number, position: string | null, waiting: number, wakeAtMs: number | null],
  ...lease: [worker: string | null, generation: number, claimed: string | null, suspects: number],
];

function toKey(columns: SqliteColumns | undefined): Key | undefined {
  if (!columns) return undefined;
  const row = columns as KeyColumns;
  return {
    id: row[0],
    position: row[1],
    waiting: row[2],
    wakeAtMs: row[3],
    worker: row[4],
    generation: row[5],
    claimed: row[6] === null ? [] : row[6].slice(1, -1).split(",").map(Number),
    suspects: row[7],
  };
}

/** With a comma around each, so that one of them is found in the text. */
const listOf = (seqs: readonly number[]) => (seqs.length === 0 ? null : `,${seqs.join()},`);
