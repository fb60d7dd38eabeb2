import { describe, expect, it } from "vitest";
import { createVirtualClock } from "workspace-tasks/mock-server";
import { type Inbox, type MemoryTransaction, memoryInbox } from "workspace-tasks/receiver-kit";
import { type InboxFixture, inboxChecks, registerChecks } from "workspace-tasks/receiver-kit/testing";
import { brokenInboxes } from "../../../support/broken-inboxes.ts";

type MemoryInbox = Inbox<MemoryTransaction>;
type Make = (inbox: MemoryInbox) => MemoryInbox & { crash?(): void };

const checksOf = (make: Make) =>
  inboxChecks(
    async (): Promise<InboxFixture> => {
      const clock = createVirtualClock();
      const inbox = make(memoryInbox({ clock }));
      const kept: string[] = [];
      return {
        inbox,
        clock,
        reopen: async () => inbox,
        effects: {
          write: async (transaction, name) => (transaction as MemoryTransaction).apply(() => kept.push(name)),
          kept: async () => kept,
        },
        async crash() {
          inbox.crash?.();
          return inbox;
        },
        async [Symbol.asyncDispose]() {},
      };
    },
    { crashes: true, seeds: [1] },
  );

/** The checks that fail, by name, with their errors. */
async function failuresOf(make: Make): Promise<ReadonlyMap<string, Error>> {
  const failures = new Map<string, Error>();
  for (const check of checksOf(make))
    await check.run().catch((error: Error) => void failures.set(check.name, error));
  return failures;
}

describe("the checks of an inbox", () => {
  it("accept the memory inbox", async () => {
    expect([...(await failuresOf((inbox) => inbox))]).toEqual([]);
  });

  it("have names of their own", () => {
    const names = checksOf((inbox) => inbox).map(({ group, name }) => `${group}: ${name}`);
    expect(new Set(names).size).toBe(names.length);
    expect(new Set(brokenInboxes.map(({ fault }) => fault)).size).toBe(brokenInboxes.length);
  });

  it.each(brokenInboxes)(
    "reject an inbox where $fault, by the check that names it",
    async ({ make, check }) => {
      expect([...(await failuresOf(make)).keys()]).toContain(check);
    },
  );

  it("name the seed and the step at which an inbox differs from the model", async () => {
    const { make, check } = brokenInboxes.at(-1) ?? { make: (inbox: MemoryInbox) => inbox, check: "" };
    expect((await failuresOf(make)).get(check)?.message).toMatch(/^seed 1, step \d+ \(\w+\): Error: head of/);
  });

  it("are declared as tests of a runner, in a describe per group", () => {
    const declared: string[] = [];
    const runner = {
      describe(name: string, define: () => void) {
        declared.push(name);
        define();
      },
      it: (name: string) => declared.push(`- ${name}`),
    };
    const check = { run: async () => {} };
    const checks = ["b", "a", "b"].map((group, n) => ({ ...check, group, name: `check ${n}` }));
    registerChecks(runner, "Inbox", checks);
    expect(declared).toEqual(["Inbox: b", "- check 0", "- check 2", "Inbox: a", "- check 1"]);
  });
});
