// Migrations of the PostgreSQL inbox, in order; a released entry never changes (see schema-version.ts). All tables are in
// one schema.
//
// TABLES. An update writes the whole row again. So a delivery is written once, its body in a table of its own; what
// changes as it is handled is in narrow tables. The lease belongs to a key, so that a claim needs neither a lock of the
// whole inbox nor a search for the other rows of a key; the rows of a lease are known by their numbers. Ids and positions
// compare by bytes, whatever the database's language. A mark of no source counts for the whole schema.

import { type Migration, schemaVersionOf } from "../../sql/schema-version.ts";

export const postgresMigrations: readonly Migration<(schema: string) => string>[] = [
  {
    release: "0.1.0",
    oldestUsable: 1,
    statements: (schema) => `
      CREATE SEQUENCE ${schema}.row_numbers;
      CREATE TABLE ${schema}.deliveries (
        seq bigint PRIMARY KEY DEFAULT nextval('${schema}.row_numbers'),
        source text COLLATE "C" NOT NULL,
        webhook_id text COLLATE "C" NOT NULL,
        channel text NOT NULL,
        event text,
        order_key text COLLATE "C",
        position text COLLATE "C",
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
      CREATE TABLE ${schema}.bodies (seq bigint PRIMARY KEY, body bytea NOT NULL);
      CREATE TABLE ${schema}.ordering_keys (
        id bigint PRIMARY KEY DEFAULT nextval('${schema}.row_numbers'),
        source text COLLATE "C" NOT NULL,
        order_key text COLLATE "C" NOT NULL,
        workspace text,
        position text COLLATE "C",
        status text,
        moved_at bigint,
        waiting integer NOT NULL,
        wake_at bigint,
        worker text,
        generation integer NOT NULL DEFAULT 0,
        leased_at bigint,
        held integer NOT NULL DEFAULT 0,
        suspects integer NOT NULL DEFAULT 0,
        claimed bigint[],
        UNIQUE (source, order_key)
      );
      CREATE TABLE ${schema}.queue (
        key_id bigint NOT NULL,
        position text COLLATE "C" NOT NULL,
        seq bigint NOT NULL,
        due_at bigint NOT NULL,
        failed_at bigint,
        attempts integer NOT NULL DEFAULT 0,
        body_bytes integer NOT NULL,
        last_error text,
        PRIMARY KEY (key_id, position, seq)
      );
      CREATE TABLE ${schema}.marks (
        source text COLLATE "C" NOT NULL,
        name text NOT NULL,
        value text NOT NULL,
        PRIMARY KEY (source, name)
      );
      CREATE INDEX ordering_keys_wake ON ${schema}.ordering_keys ((source || ''), wake_at, id) WHERE wake_at IS NOT NULL;
      CREATE INDEX ordering_keys_running ON ${schema}.ordering_keys (source, order_key) WHERE status = 'RUNNING';
      CREATE INDEX deliveries_unhandled ON ${schema}.deliveries (source, outcome, order_key)
        WHERE outcome IN ('dead', 'quarantined');`,
  },
];

/** Of this release. */
export const postgresVersion = schemaVersionOf(postgresMigrations);
