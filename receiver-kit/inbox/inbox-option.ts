import { option } from "../options.ts";
import type { InboxStore } from "./inbox.ts";

export const inboxOption = option.objectWith<InboxStore>(
  "an inbox such as sqliteInbox(path), postgresInbox(pool) or memoryInbox()",
  "insert",
  "claim",
);
