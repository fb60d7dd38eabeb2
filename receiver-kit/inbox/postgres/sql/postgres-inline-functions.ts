// What a request that handles its delivery itself writes.

import type { SqlTables } from "../../sql/sql-statements.ts";
import { durable, now } from "./postgres-expressions.ts";
import type { FunctionSource } from "./postgres-functions.ts";

/** See postgres-claim-functions.ts. */
const settingsOff = ["jit", "enable_seqscan"];

export function inlineFunctions({ deliveries, bodies, keys }: SqlTables) {
  const begin: FunctionSource = {
    name: "begin_inline",
    parameters: ["bigint", "text", "text", "bigint", "bigint", "bytea"],
    columns: ["generation integer"],
    settingsOff,
    statement: `
    WITH ${durable},
    begun AS (
      INSERT INTO ${deliveries} AS delivery
        (source, webhook_id, channel, signed_at, received_at, outcome, lease_until, leased_at, generation)
      SELECT $2, $3, 'webhook', $4, ${now}, 'inline', ${now} + $5, ${now}, 1
      FROM durable WHERE durable.setting IS NOT NULL
      ON CONFLICT (source, webhook_id) DO UPDATE
      SET lease_until = excluded.lease_until, leased_at = excluded.leased_at, generation = delivery.generation + 1
      WHERE delivery.outcome = 'inline' AND delivery.lease_until <= ${now}
      RETURNING seq, generation),
    body_stored AS (
      INSERT INTO ${bodies} (seq, body) SELECT seq, $6 FROM begun ON CONFLICT (seq) DO NOTHING)
    SELECT generation FROM begun`,
  };
  const finish: FunctionSource = {
    name: "finish_inline",
    parameters: ["text", "text", "integer", "text"],
    columns: ["seq bigint"],
    settingsOff,
    statement: `
    WITH ${durable}
    UPDATE ${deliveries} SET outcome = $4, lease_until = 0, leased_at = 0 FROM durable
    WHERE durable.setting IS NOT NULL
      AND source = $1 AND webhook_id = $2 AND generation = $3 AND outcome = 'inline'
    RETURNING seq`,
  };
  const advanceHead: FunctionSource = {
    name: "advance_head",
    parameters: ["bigint", "text", "text", "text"],
    columns: ["id bigint"],
    settingsOff,
    statement: `
    WITH ${durable}
    INSERT INTO ${keys} AS ordering_key (source, order_key, position, status, moved_at, waiting)
    SELECT $2, $3, $4, NULL, ${now}, 0 FROM durable WHERE durable.setting IS NOT NULL
    ON CONFLICT (source, order_key) DO UPDATE
    SET position = excluded.position, status = excluded.status, moved_at = excluded.moved_at
    WHERE ordering_key.position IS NULL OR excluded.position > ordering_key.position
    RETURNING id`,
  };
  return { begin, finish, advanceHead };
}
