export { type PrimaryPoolOptions, primaryPool } from "./inbox/postgres/connection/primary-pool.ts";
export { type PostgresInboxOptions, postgresInbox } from "./inbox/postgres/postgres-inbox.ts";
export type {
  PostgresClient,
  PostgresPool,
  PostgresQueryable,
  PostgresResult,
  PostgresRow,
} from "./inbox/postgres/sql/postgres-pool.ts";
export type { PostgresTransaction } from "./inbox/postgres/transactions/postgres-transaction.ts";
