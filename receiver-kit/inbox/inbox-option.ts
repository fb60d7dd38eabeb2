import { objectWith } from "@workspace-tasks/kernel/schema.ts";
import type { InboxStore } from "./inbox.ts";

export const inboxOption = objectWith<InboxStore>(
  "an inbox such as sqliteInbox(path), postgresInbox(pool) or memoryInbox()",
  "insert",
  "claim",
);
