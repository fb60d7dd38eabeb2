// The inboxes with all that the receiver uses, where programs see only that they can be opened and closed.

import { storeOf } from "../../receiver-kit/inbox/inbox.ts";
import * as memory from "../../receiver-kit/inbox/memory/memory-inbox.ts";
import * as postgres from "../../receiver-kit/inbox/postgres/postgres-inbox.ts";
import * as sqlite from "../../receiver-kit/inbox/sqlite/sqlite-inbox.ts";

export const memoryInbox = (...options: Parameters<typeof memory.memoryInbox>) =>
  storeOf(memory.memoryInbox(...options));

export const sqliteInbox = (...options: Parameters<typeof sqlite.sqliteInbox>) =>
  storeOf(sqlite.sqliteInbox(...options));

export const postgresInbox = (...options: Parameters<typeof postgres.postgresInbox>) =>
  storeOf(postgres.postgresInbox(...options));
