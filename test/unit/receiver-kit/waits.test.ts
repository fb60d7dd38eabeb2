// Waits of the receiver kit: what is waited for never comes, and the error names it and the option with the limit.

import type { VirtualClock } from "@workspace-tasks/mock-server";
import { orderWebhook } from "@workspace-tasks/receiver-kit/express";
import { describe, expect, it } from "vitest";
import type { InboxClaim, InboxStore } from "../../../receiver-kit/inbox/inbox.ts";
import { claimOne, claimOptions, rowAt, settle, source } from "../../support/inbox-contract/contract-rows.ts";
import { runningAt } from "../../support/inbox-rows.ts";
import { memoryInbox, postgresInbox } from "../../support/inbox-stores.ts";
import { createFixtureClock, createReceiverFixture } from "../../support/receiver-fixture.ts";
import { sampleEvent } from "../../support/sample-event.ts";
import { overrideInbox } from "../../support/wrap-inbox.ts";

const hang = () => new Promise<never>(() => {});
const unavailable = (message: string) => ({
  code: "INBOX_UNAVAILABLE",
  message: expect.stringContaining(message),
});

/** The error that a wait ends with within a time. */
async function endOf(wait: Promise<unknown>, clock: VirtualClock, forMs = 60_000): Promise<unknown> {
  const settled = wait.then(
    () => "it ended well",
    (error: unknown) => error,
  );
  await clock.advance(forMs);
  return Promise.race([settled, Promise.resolve("it did not end")]);
}

const webhook = (id: string) => ({
  id,
  timestamp: 1,
  body: Buffer.from("{}"),
  secretIndex: 0,
  event: sampleEvent({ taskId: "task-1" }),
});

const silentPool = (has: "no client" | "a silent client") => {
  const client = { query: hang, release() {}, on() {}, removeListener() {} };
  return { connect: () => (has === "no client" ? hang() : Promise.resolve(client)) };
};

/** A PostgreSQL inbox whose statements end so. */
function inboxOn(query: (statement: { readonly text: string }) => Promise<unknown>, queryTimeoutMs = 10_000) {
  const client = { query, release() {}, on() {}, removeListener() {} };
  return postgresInbox({ connect: async () => client as never }, { queryTimeoutMs });
}

describe("an error that ends a wait names what was waited for, and the limit", () => {
  it.each(["open", "insert"])("when a delivery waits for %s of the inbox", async (method) => {
    const clock = createFixtureClock();
    const inbox = overrideInbox(memoryInbox({ clock }), { [method]: hang });
    const { deliver } = createReceiverFixture({ clock, inbox, acceptTimeoutMs: 2_000 });
    expect(await endOf(deliver(sampleEvent()), clock)).toMatchObject(
      unavailable(`inbox: ${method} did not return within acceptTimeoutMs (2000)`),
    );
  });

  it("when orderWebhook waits for another delivery of the task", async () => {
    const clock = createFixtureClock();
    const errors: unknown[] = [];
    const onError = (error: unknown) => void errors.push(error);
    const middleware = orderWebhook({ inbox: memoryInbox(), clock, onError, waitMs: 4_000 });
    for (const id of ["msg_1", "msg_2"]) {
      const response = { writeHead() {}, end() {}, headersSent: false, destroyed: false };
      middleware({ webhook: webhook(id) } as never, response as never, () => {});
    }
    await clock.advance(4_000);
    expect(errors).toMatchObject([
      unavailable("another delivery of the same task or stage was still being handled after waitMs (4000)"),
    ]);
  });

  it.each(["insert", "open"])("when %s of the PostgreSQL inbox waits for a lock", async (method) => {
    const locked = Object.assign(new Error("canceling statement"), { code: "55P03", severity: "ERROR" });
    const inbox = inboxOn(async ({ text }) => {
      if (!text.startsWith("ROLLBACK")) throw locked;
      return { rows: [] };
    });
    const call = method === "insert" ? inbox.insert(runningAt("task-1", 1)) : inbox.open();
    await expect(call).rejects.toThrow("another session holds a lock of the inbox for longer than");
  });
});

/** Every call that reaches the server; with a list of rows or keys, of one. */
const calls: Readonly<Record<string, (inbox: InboxStore, claim: InboxClaim) => Promise<unknown>>> = {
  open: (inbox) => inbox.open(),
  insert: (inbox) => inbox.insert(rowAt("task-1", 1)),
  backlog: (inbox) => inbox.backlog(source, 1),
  beginInline: (inbox) => inbox.beginInline(webhook("msg_1"), { source, leaseMs: 1 }),
  finishInline: (inbox) => inbox.finishInline("msg_1", { source, generation: 1, outcome: "done" }),
  advanceHead: (inbox) => inbox.advanceHead({ source, key: "key", position: "1" }),
  head: (inbox) => inbox.head(source, "key"),
  reconcileCandidates: (inbox) =>
    inbox.reconcileCandidates({ source, runningForMs: 1, afterKey: "", limit: 1 }),
  readMarks: (inbox) => inbox.readMarks(source),
  writeMarks: (inbox) => inbox.writeMarks(source, { name: "value" }),
  keepMark: (inbox) => inbox.keepMark(source, "name", "value"),
  purge: (inbox) => inbox.purge({ bodiesMs: 1, rowsMs: 1, headsMs: 1, unhandledBodiesMs: 1 }, 1),
  list: (inbox) => inbox.list({}),
  search: (inbox) => inbox.search({})[Symbol.asyncIterator]().next(),
  get: (inbox) => inbox.get(rowAt("task-1", 1)),
  replay: (inbox) => inbox.replay(rowAt("task-1", 1), rowAt("task-1", 1)),
  discard: (inbox) => inbox.discard(rowAt("task-1", 1)),
  stats: (inbox) => inbox.stats(),
  leases: (inbox) => inbox.leases(),
  waitingSources: (inbox) => inbox.waitingSources(source),
  claim: (inbox) => inbox.claim(claimOptions()),
  renew: (inbox, { lease }) => inbox.renew([lease], 1),
  commit: (inbox, claim) => settle(inbox, claim),
  fail: (inbox, claim) => inbox.fail(claim, { kind: "release" }),
};

describe.each(["no client", "a silent client"] as const)("a PostgreSQL inbox whose pool has %s", (has) => {
  it("has no call without a limit that is not listed here", () => {
    const unlimited = ["begin", "close", "durable", "isOpen", "subscribe"];
    const names = Object.keys(postgresInbox(silentPool(has) as never));
    expect([...Object.keys(calls), ...unlimited].sort()).toEqual([...names, "commit"].sort());
  });

  it.each(Object.entries(calls))("ends %s", async (_name, call) => {
    const memory = memoryInbox();
    await memory.insert(rowAt("task-1", 1));
    const inbox = postgresInbox(silentPool(has) as never, { queryTimeoutMs: 2 });
    const expected = has === "no client" ? "no client of the pool was available" : "no response in";
    await expect(call(inbox, await claimOne(memory))).rejects.toThrow(expected);
  });
});

describe("the PostgreSQL inbox gives retention the time of retention", () => {
  it.each(["bodies WHERE seq = ANY", "deliveries WHERE seq = ANY", "ordering_keys WHERE id = ANY"])(
    "for the statement that deletes with %s",
    async (part) => {
      let statements = 0;
      const inbox = inboxOn(async ({ text }) => {
        const row = { seq: 1, last: 1, is_old: true };
        const result = { rows: [row] };
        if (!text.includes("DELETE FROM") || !text.includes(part)) return [result, result];
        statements += 1;
        return hang();
      }, 5);
      const retention = { bodiesMs: 1, rowsMs: 1, headsMs: 1, unhandledBodiesMs: 1 };
      await expect(inbox.purge(retention, 10)).rejects.toThrow("in 30 ms (queryTimeoutMs is 5)");
      expect(statements).toBe(1);
    },
  );
});
