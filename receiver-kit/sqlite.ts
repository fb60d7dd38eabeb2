export type {
  SqliteConnection,
  SqliteDriverName,
  SqliteOpener,
  SqliteValue,
} from "./inbox/sqlite/sqlite-driver.ts";
export { type SqliteInboxOptions, sqliteInbox } from "./inbox/sqlite/sqlite-inbox.ts";
export type { SqliteTransaction } from "./inbox/sqlite/sqlite-transaction.ts";
