// The parts of the receiver kit that the model's runs are replayed on. Bundled with their private fields made visible.

export { memoryInbox } from "../../../receiver-kit/inbox/memory/memory-inbox.ts";
export { postgresInbox } from "../../../receiver-kit/inbox/postgres/postgres-inbox.ts";
export { loadSqliteDriver } from "../../../receiver-kit/inbox/sqlite/sqlite-driver.ts";
export { sqliteInbox } from "../../../receiver-kit/inbox/sqlite/sqlite-inbox.ts";
