// The inbox of docs/own-inbox.md keeps every promise.

import { copyFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, it } from "vitest";
import { createVirtualClock } from "workspace-tasks/mock-server";
import { inboxChecks, registerChecks } from "workspace-tasks/receiver-kit/testing";
import { type JournalTransaction, journalInbox } from "./journal-inbox.ts";

// #region conformance
const checks = inboxChecks(
  async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "journal-inbox-"));
    const clock = createVirtualClock();
    let file = path.join(folder, "journal");
    let inbox = journalInbox(file, clock);
    await inbox.open();
    return {
      inbox,
      clock,
      // It is for one process: a second handle is the same one.
      reopen: async () => inbox,
      effects: {
        write: async (transaction, name) => (transaction as JournalTransaction).set(name, true),
        kept: async () => [...inbox.values.keys()],
      },
      // What a killed process leaves: the file as it is.
      async crash() {
        copyFileSync(file, `${file}-copy`);
        file = `${file}-copy`;
        inbox = journalInbox(file, clock);
        await inbox.open();
        return inbox;
      },
      async [Symbol.asyncDispose]() {
        await inbox.close();
        await rm(folder, { recursive: true });
      },
    };
  },
  { crashes: true, seeds: [1, 2], steps: 60 },
);
registerChecks({ describe, it }, "journal inbox", checks);
// #endregion
