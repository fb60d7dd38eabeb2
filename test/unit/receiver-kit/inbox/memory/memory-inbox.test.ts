import { createVirtualClock } from "@workspace-tasks/mock-server";
import type { MemoryTransaction } from "@workspace-tasks/receiver-kit";
import { expect, it } from "vitest";
import { describeInbox } from "../../../../support/inbox-contract/describe-inbox.ts";
import type { InboxFixture } from "../../../../support/inbox-contract/inbox-fixture.ts";
import { runningAt } from "../../../../support/inbox-rows.ts";
import { memoryInbox } from "../../../../support/inbox-stores.ts";

const createFixture = async (): Promise<InboxFixture> => {
  const clock = createVirtualClock();
  const inbox = memoryInbox({ clock });
  const kept: string[] = [];
  await inbox.open();
  return {
    inbox,
    clock,
    reopen: async () => inbox,
    effects: {
      write: async (transaction, name) => (transaction as MemoryTransaction).apply(() => kept.push(name)),
      kept: async () => kept,
    },
    [Symbol.asyncDispose]: () => inbox.close(),
  };
};

describeInbox("memory inbox", createFixture);

it("a memory inbox is not durable", () => {
  expect(memoryInbox().durable).toBe(false);
});

it("a memory inbox rejects rows above rowsMax rather than forget an id", async () => {
  const inbox = memoryInbox({ rowsMax: 2 });
  await inbox.insert(runningAt("task-1", 1));
  await inbox.insert(runningAt("task-2", 1));
  await expect(inbox.insert(runningAt("task-3", 1))).rejects.toThrow("full, expected at most 2 rows");
});
