// Dedupe and order for programs that consume events from a queue of their own: one table, no inbox.
//
// A task or stage has one row with the position of the newest event that was applied; so has an event without an order,
// under its id. Advancing the row and the caller's writes are one transaction, which is the caller's. The row stays locked
// until that ends, so transactions that apply events of one task follow each other.
//
//   READ COMMITTED    a call waits for the transaction that has the row, and then compares with what that committed
//   REPEATABLE READ,  such a call fails instead: its snapshot does not show what the other one committed. The caller rolls
//   SERIALIZABLE      back and begins again
//
// A savepoint surrounds the row and `work`: where `work` fails and the caller commits nevertheless, neither is kept.

import type { WebhookEvent } from "../../../sdk/events/index.ts";
import { type Clock, systemClock } from "../../clock.ts";
import { ReceiverError } from "../../errors.ts";
import { eventOrder, isFarFuture, orderKey } from "../../event/event-order.ts";
import { defaults, option, parseOptions, strictOptions } from "../../options.ts";
import { identifier } from "./postgres-expressions.ts";
import type { PostgresQueryable } from "./postgres-pool.ts";

export interface AppliedHeadsOptions {
  /** Schema of the table `applied_heads`; lower case. Default `workspace_tasks`. */
  readonly schema?: string | undefined;
}

export interface ApplyInOrderOptions extends AppliedHeadsOptions {
  /** Consumers of different sources apply the same event each. Default `default`. */
  readonly source?: string | undefined;
  readonly clock?: Clock | undefined;
}

export type ApplyInOrderResult<Result> =
  /** `work` has run; what it wrote counts when the caller commits. */
  | { readonly outcome: "applied"; readonly result: Result }
  /** The event was applied before. */
  | { readonly outcome: "duplicate" }
  /** A newer event of the task or stage was applied before, and perhaps this one before that. */
  | { readonly outcome: "stale" };

export interface AppliedHeadsRetention extends AppliedHeadsOptions {
  /** Days that ids of events without an order are kept. More than any queue may keep an event. Default 14. */
  readonly idsDays?: number | undefined;
  /** Days that unchanged heads of tasks and stages are kept. Default 365. */
  readonly headsDays?: number | undefined;
  /** Rows deleted by one call. Default 1,000. */
  readonly rowsMax?: number | undefined;
}

const schema = option.schema.default(defaults.postgres.schema);
const headsOptions = strictOptions<AppliedHeadsOptions>()({ schema });
const applyOptions = strictOptions<ApplyInOrderOptions>()({
  schema,
  source: option.name.default(defaults.source),
  clock: option.clock.default(systemClock),
});
const retentionOptions = strictOptions<AppliedHeadsRetention>()({
  schema,
  idsDays: option.numberFrom(0).default(defaults.retention.idsDays),
  headsDays: option.numberFrom(0).default(defaults.retention.headsDays),
  rowsMax: option.positiveInteger.default(1_000),
});
const queryable = option.objectWith<PostgresQueryable>("a client of the package pg", "query");

const savepoint = "workspace_tasks_apply";
const nowMs = "(extract(epoch FROM statement_timestamp()) * 1000)::bigint";
const inProgress = new WeakSet<PostgresQueryable>();

/**
 * Runs `work` unless the event, or a newer one of its task or stage, was applied before. `client` is in a transaction that
 * the caller has begun and ends; `work` writes through the same client. When `work` throws, its writes are undone, the
 * error is thrown, and the transaction can be used further.
 *
 * Apply the events of a transaction one after the other; two transactions that apply the same tasks in different orders
 * can deadlock, which fails one of them as a conflict.
 *
 * @example examples/apply-in-order.test.ts#apply
 * ```ts
 * await createAppliedHeads(pool); // once, when the program starts
 *
 * // Applies one message of the queue. Acknowledge it when this resolves.
 * async function apply(message: string): Promise<string> {
 *   const parsed = parseEvent(JSON.parse(message));
 *   if (!parsed.ok) throw new Error("not an event");
 *   const { event } = parsed;
 *   const client = await pool.connect();
 *   try {
 *     await client.query("BEGIN");
 *     const { outcome } = await applyInOrder(client, event, (transaction) =>
 *       transaction.query(
 *         "INSERT INTO task_states VALUES ($1, $2) ON CONFLICT (task_id) DO UPDATE SET status = $2",
 *         [event["taskId"], event["status"]],
 *       ),
 *     );
 *     await client.query("COMMIT");
 *     return outcome; // "applied", "duplicate" or "stale"
 *   } catch (error) {
 *     await client.query("ROLLBACK");
 *     if (isReceiverError(error, "TRANSACTION_CONFLICT")) return apply(message);
 *     throw error; // the queue delivers the message again
 *   } finally {
 *     client.release();
 *   }
 * }
 * ```
 *
 * @throws {ReceiverError} `TRANSACTION_CONFLICT`: roll back, begin again and repeat; `COMMIT` can fail in the same way,
 * with the SQLSTATE 40001. `ARGUMENT_INVALID`: no transaction is open, another call on the client is in progress, the
 * event has neither an order nor an id, or it is more than 10 minutes in the future: a later one would never be applied
 */
export async function applyInOrder<Client extends PostgresQueryable, Result>(
  client: Client,
  event: WebhookEvent,
  work: (client: Client) => Promise<Result>,
  options: ApplyInOrderOptions = {},
): Promise<ApplyInOrderResult<Result>> {
  parseOptions("applyInOrder: client", queryable, client, "ARGUMENT_INVALID");
  const { schema, source, clock } = parseOptions("applyInOrder", applyOptions, options);
  const { key, position } = placeOf(event, clock.now());
  if (inProgress.has(client)) throw invalid("expected one call at a time on a client");
  inProgress.add(client);
  try {
    await client.query(`SAVEPOINT ${savepoint}`).catch(rethrowWithoutTransaction);
    try {
      const head = await advance(client, schema, [source, key, position]);
      const applied = head === undefined ? { result: await work(client) } : undefined;
      await client.query(`RELEASE SAVEPOINT ${savepoint}`);
      if (applied) return { outcome: "applied", ...applied };
      return { outcome: head === position ? "duplicate" : "stale" };
    } catch (error) {
      // Where that fails too, the transaction can only be rolled back.
      const undo = `ROLLBACK TO SAVEPOINT ${savepoint}; RELEASE SAVEPOINT ${savepoint}`;
      await client.query(undo).catch(() => undefined);
      throw error;
    }
  } catch (cause) {
    if (!isConflict(cause)) throw cause;
    const message = "applyInOrder: another transaction changed or locked the same rows; begin again";
    throw new ReceiverError("TRANSACTION_CONFLICT", message, { cause });
  } finally {
    inProgress.delete(client);
  }
}

/** Returns the position of the head where that is not older, `undefined` after the head was advanced. */
async function advance(client: PostgresQueryable, schema: string, values: string[]): Promise<unknown> {
  const table = `${identifier(schema)}.applied_heads`;
  const advanced = await client.query(
    `INSERT INTO ${table} AS head (source, order_key, position, applied_at) VALUES ($1, $2, $3, ${nowMs})
     ON CONFLICT (source, order_key) DO UPDATE SET position = excluded.position, applied_at = excluded.applied_at
     WHERE head.position < excluded.position RETURNING 1`,
    values,
  );
  if (advanced.rows.length > 0) return undefined;
  const { rows } = await client.query(
    `SELECT position FROM ${table} WHERE source = $1 AND order_key = $2`,
    values.slice(0, 2),
  );
  return rows[0]?.["position"] ?? "";
}

/** An event without an order has a key of its own; those of tasks and stages are JSON. */
function placeOf(event: WebhookEvent, nowMs: number): { readonly key: string; readonly position: string } {
  const order = eventOrder(event);
  if (order && isFarFuture(order.occurredAt, nowMs))
    throw invalid("expected an event whose occurredAt is at most 10 minutes in the future");
  if (order) return order;
  const { id } = event as { readonly id?: unknown };
  if (typeof id !== "string" || id === "") throw invalid("expected an event with an id");
  return { key: `id:${orderKey([id])}`, position: "" };
}

const invalid = (message: string) => new ReceiverError("ARGUMENT_INVALID", `applyInOrder: ${message}`);

const codeOf = (error: unknown) => String((error as { readonly code?: unknown } | null)?.code ?? "");

function rethrowWithoutTransaction(error: unknown): never {
  throw codeOf(error) === "25P01" ? invalid("expected a client in a transaction, after BEGIN") : error;
}

/** A serialization failure, a deadlock, or a lock that `lock_timeout` did not wait for. */
const isConflict = (error: unknown) => /^(40001|40P01|55P03)$/.test(codeOf(error));

/**
 * Creates the table of `applyInOrder` where it is absent; for processes that start together, too. The role needs CREATE on
 * the schema, or on the database where the schema is absent; the role that applies events USAGE on the schema and SELECT,
 * INSERT and UPDATE on the table, for retention DELETE.
 *
 * @throws {ReceiverError} `CONFIGURATION_INVALID`
 */
export async function createAppliedHeads(
  client: PostgresQueryable,
  options: AppliedHeadsOptions = {},
): Promise<void> {
  parseOptions("createAppliedHeads: client", queryable, client);
  const { schema } = parseOptions("createAppliedHeads", headsOptions, options);
  // One message is one transaction. CREATE … IF NOT EXISTS fails when another session does the same at the same time.
  await client.query(`
    DO $$ BEGIN
      PERFORM pg_advisory_xact_lock(hashtextextended('${schema}.applied_heads', 0));
      IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = '${schema}') THEN
        CREATE SCHEMA ${identifier(schema)};
      END IF;
      IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_class AS class
          JOIN pg_catalog.pg_namespace AS space ON space.oid = class.relnamespace
          WHERE space.nspname = '${schema}' AND class.relname = 'applied_heads') THEN
        CREATE TABLE ${identifier(schema)}.applied_heads (
          source text COLLATE "C" NOT NULL,
          order_key text COLLATE "C" NOT NULL,
          position text COLLATE "C" NOT NULL,
          applied_at bigint NOT NULL,
          PRIMARY KEY (source, order_key)
        ) WITH (fillfactor = 80);
      END IF;
    END $$`);
}

/**
 * Deletes what is older than its retention; returns how many rows, to be called until 0, once a day. It reads the table
 * once.
 *
 * @throws {ReceiverError} `CONFIGURATION_INVALID`
 */
export async function purgeAppliedHeads(
  client: PostgresQueryable,
  options: AppliedHeadsRetention = {},
): Promise<number> {
  parseOptions("purgeAppliedHeads: client", queryable, client);
  const { schema, idsDays, headsDays, rowsMax } = parseOptions(
    "purgeAppliedHeads",
    retentionOptions,
    options,
  );
  const table = `${identifier(schema)}.applied_heads`;
  const { rows } = await client.query(
    `DELETE FROM ${table} WHERE (source, order_key) IN (
       SELECT source, order_key FROM ${table}
       WHERE applied_at < ${nowMs} - 86400000 * (CASE WHEN position = '' THEN $1 ELSE $2 END)::double precision
       LIMIT $3 FOR UPDATE SKIP LOCKED)
     RETURNING 1`,
    [idsDays, headsDays, rowsMax],
  );
  return rows.length;
}
