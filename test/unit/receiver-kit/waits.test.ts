// Waits of the receiver kit: what is waited for never comes, and the error names it and the option with the limit.

import type { VirtualClock } from "@workspace-tasks/mock-server";
import { orderWebhook } from "@workspace-tasks/receiver-kit/express";
import { describe, expect, it } from "vitest";
import type { InboxStore } from "../../../receiver-kit/inbox/inbox.ts";
import { limitInbox } from "../../../receiver-kit/inbox/limited-inbox.ts";
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
      const webhook = { id, body: Buffer.from("{}"), event: sampleEvent({ taskId: "task-1" }) };
      const response = { writeHead() {}, end() {}, headersSent: false, destroyed: false };
      middleware({ webhook } as never, response as never, () => {});
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
    await expect(call).rejects.toThrow(
      "postgres inbox: another session holds a lock of the inbox for longer than lock_timeout",
    );
  });

  const inner = memoryInbox();
  const methods = [...Object.keys(inner), "open", "close"] as (keyof InboxStore & string)[];
  const limited = methods.filter(
    (name) => typeof inner[name] === "function" && name !== "begin" && name !== "insert",
  );
  const slow = ["list", "stats", "purge", "reconcileCandidates", "subscribe"];

  it.each(limited)("when a receiver waits for %s of its inbox", async (name) => {
    const clock = createFixtureClock();
    const inbox = limitInbox(overrideInbox(memoryInbox(), { [name]: hang }), { clock, leaseMs: 30_000 });
    const call = (inbox[name] as () => Promise<unknown>)();
    const limitMs = name === "open" ? 1_200_000 : slow.includes(name) ? 60_000 : 10_000;
    expect(await endOf(call, clock, limitMs - 1)).toBe("it did not end");
    expect(await endOf(call, clock, 1)).toMatchObject(
      unavailable(`inbox: ${name} did not return within ${limitMs} ms`),
    );
  });
});

describe("the PostgreSQL inbox gives retention the time of retention", () => {
  it.each([
    "bodies AS body CROSS JOIN",
    "outcome IN ('dead', 'quarantined') AND +delivery",
    "NOT EXISTS",
    "ordering_keys WHERE waiting = 0",
  ])("for the statement that deletes with %s", async (part) => {
    let statements = 0;
    const inbox = inboxOn(async ({ text }) => {
      const row = { seq: 1, first: 1, last: 1, is_expired: true };
      if (!text.includes("DELETE FROM") || !text.includes(part)) return { rows: [row] };
      statements += 1;
      return hang();
    }, 5);
    const retention = { bodiesMs: 1, rowsMs: 1, headsMs: 1, unhandledBodiesMs: 1 };
    await expect(inbox.purge(retention, 10)).rejects.toThrow("in 30 ms (queryTimeoutMs is 5)");
    expect(statements).toBe(1);
  });
});
