// The tables of the first release, the same in both databases. What a later release adds is a migration of its own.

import type { SqlTables } from "./sql-statements.ts";

export interface SchemaDialect extends SqlTables {
  readonly rowNumber: string;
  /** A row number that the database gives to a new row. */
  readonly newRowNumber: string;
  /** Type of a text that compares by bytes. */
  readonly text: string;
  readonly bytes: string;
  /** Type of the numbers of the claimed rows. */
  readonly rowNumbers: string;
  /** Of a table whose rows are stored in its primary key, where a database can do that. */
  readonly inKey: string;
  /** Before the name of an index. */
  readonly prefix: string;
  readonly wakeSource: string;
}

/** What each column is for: see sql-statements.ts. */
export function firstSchema(dialect: SchemaDialect): string {
  const { deliveries, bodies, keys, queue, marks, text, bytes, rowNumbers, inKey } = dialect;
  const { rowNumber, newRowNumber, prefix, wakeSource } = dialect;
  return `
      CREATE TABLE ${deliveries} (
        seq ${newRowNumber} PRIMARY KEY,
        source ${text} NOT NULL,
        webhook_id ${text} NOT NULL,
        channel text NOT NULL,
        event text,
        order_key ${text},
        position ${text},
        status text,
        workspace text,
        signed_at bigint NOT NULL,
        received_at bigint NOT NULL,
        secret_index integer,
        traceparent text,
        outcome text,
        attempts integer,
        last_error text,
        replays integer NOT NULL DEFAULT 0,
        replayed_at bigint,
        lease_until bigint,
        leased_at bigint,
        generation integer,
        UNIQUE (source, webhook_id)
      );
      CREATE TABLE ${bodies} (seq ${rowNumber} PRIMARY KEY, body ${bytes} NOT NULL);
      CREATE TABLE ${keys} (
        id ${newRowNumber} PRIMARY KEY,
        source ${text} NOT NULL,
        order_key ${text} NOT NULL,
        workspace text,
        position ${text},
        status text,
        moved_at bigint,
        waiting integer NOT NULL,
        wake_at bigint,
        worker text,
        generation integer NOT NULL DEFAULT 0,
        leased_at bigint,
        held integer NOT NULL DEFAULT 0,
        suspects integer NOT NULL DEFAULT 0,
        claimed ${rowNumbers},
        UNIQUE (source, order_key)
      );
      CREATE TABLE ${queue} (
        key_id bigint NOT NULL,
        position ${text} NOT NULL,
        seq bigint NOT NULL,
        due_at bigint NOT NULL,
        attempts integer NOT NULL DEFAULT 0,
        body_bytes integer NOT NULL,
        last_error text,
        PRIMARY KEY (key_id, position, seq)
      ) ${inKey};
      CREATE TABLE ${marks} (
        source ${text} NOT NULL,
        name text NOT NULL,
        value text NOT NULL,
        PRIMARY KEY (source, name)
      ) ${inKey};
      CREATE INDEX ${prefix}ordering_keys_wake ON ${keys} (${wakeSource}, wake_at, id) WHERE wake_at IS NOT NULL;
      CREATE INDEX ${prefix}ordering_keys_running ON ${keys} (source, order_key) WHERE status = 'RUNNING';
      CREATE INDEX ${prefix}deliveries_unhandled ON ${deliveries} (source, outcome, order_key)
        WHERE outcome IN ('dead', 'quarantined');`;
}
