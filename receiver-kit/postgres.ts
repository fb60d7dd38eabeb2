export { type PostgresInboxOptions, postgresInbox } from "./inbox/postgres/postgres-inbox.ts";
export type {
  PostgresClient,
  PostgresPool,
  PostgresQueryable,
  PostgresResult,
  PostgresRow,
} from "./inbox/postgres/postgres-pool.ts";
export type { PostgresTransaction } from "./inbox/postgres/postgres-transaction.ts";
export { type PrimaryPoolOptions, primaryPool } from "./inbox/postgres/primary-pool.ts";
