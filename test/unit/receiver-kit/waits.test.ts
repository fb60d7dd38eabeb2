import type { VirtualClock } from "@workspace-tasks/mock-server";
import {
  orderWebhook,
  type ReceivedWebhook,
  type WebhookMiddleware,
} from "@workspace-tasks/receiver-kit/express";
import { describe, expect, it } from "vitest";
import type { InboxStore } from "../../../receiver-kit/inbox/inbox.ts";
import { limitInbox } from "../../../receiver-kit/inbox/limited-inbox.ts";
import { boundPool } from "../../../receiver-kit/inbox/postgres/connection/bounded-pool.ts";
import { runningAt } from "../../support/inbox-rows.ts";
import { memoryInbox, postgresInbox } from "../../support/inbox-stores.ts";
import { createFixtureClock, createReceiverFixture } from "../../support/receiver-fixture.ts";
import { sampleEvent } from "../../support/sample-event.ts";
import { overrideInbox } from "../../support/wrap-inbox.ts";

const hang = () => new Promise<never>(() => {});
const minuteMs = 60_000;

/** What became of a wait: the error's code, and its message with those of its causes. */
async function endOf(wait: Promise<unknown>, clock: VirtualClock, forMs = 20 * minuteMs) {
  const settled = wait.then(
    () => "it ended well",
    (error: unknown) => error,
  );
  await clock.advance(forMs);
  return describeError(await Promise.race([settled, Promise.resolve("it did not end")]));
}

function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, cause } = error as Error & { code?: string };
  const causes = error instanceof AggregateError ? error.errors : cause === undefined ? [] : [cause];
  return [`${code ?? error.name}: ${error.message}`, ...causes.map(describeError)].join(" < ");
}

const webhook = (id: string): ReceivedWebhook =>
  ({
    id,
    timestamp: 1,
    body: Buffer.from("{}"),
    secretIndex: 0,
    event: sampleEvent({ taskId: "task-1" }),
    problem: undefined,
  }) as never;

/** The error that a middleware reports for the last of `count` requests. */
async function reportedBy(
  create: (options: { readonly clock: VirtualClock; onError(error: unknown): void }) => WebhookMiddleware,
  count = 1,
): Promise<string> {
  const clock = createFixtureClock();
  const errors: unknown[] = [];
  const middleware = create({ clock, onError: (error) => void errors.push(error) });
  for (let index = 0; index < count; index += 1) {
    const response = { writeHead() {}, end() {}, headersSent: false, destroyed: false };
    middleware({ webhook: webhook(`msg_${index}`) } as never, response as never, () => {});
  }
  await clock.advance(minuteMs);
  return describeError(errors.at(-1));
}

/** A pool whose one client does not respond, or which has none. */
const silentPool = (has: "no client" | "a silent client") => {
  const client = { query: hang, release() {}, on() {}, removeListener() {} };
  return { connect: () => (has === "no client" ? hang() : Promise.resolve(client)) };
};

/** A PostgreSQL inbox whose server ends every statement because of a lock. */
const lockedInbox = () => {
  const query = ({ text }: { text: string }) =>
    text.startsWith("ROLLBACK")
      ? Promise.resolve({ rows: [] })
      : Promise.reject(Object.assign(new Error("canceling statement"), { code: "55P03", severity: "ERROR" }));
  const client = { query, release() {}, on() {}, removeListener() {} };
  return postgresInbox({ connect: () => Promise.resolve(client as never) });
};

const waits: readonly (readonly [wait: string, end: () => Promise<string>, expected: string])[] = [
  ...(["open", "insert"] as const).map(
    (method) =>
      [
        `a delivery waits for ${method} of the inbox`,
        () => {
          const clock = createFixtureClock();
          const inbox = overrideInbox(memoryInbox({ clock }), { [method]: hang });
          const fixture = createReceiverFixture({ clock, inbox, acceptTimeoutMs: 2_000 });
          return endOf(fixture.deliver(sampleEvent()), clock);
        },
        `INBOX_UNAVAILABLE: inbox: ${method} did not return within acceptTimeoutMs (2000)`,
      ] as const,
  ),
  [
    "reconciling waits for the inbox to store a change",
    async () => {
      const clock = createFixtureClock();
      const inbox = overrideInbox(memoryInbox({ clock }), { insert: hang });
      const fixture = createReceiverFixture({ clock, inbox, acceptTimeoutMs: 2_000 });
      const task = { id: "task-1", type: "BINDER", status: "RUNNING", startedAt: "2026-05-01T00:00:00Z" };
      const client = {
        tasks: {
          async *list() {
            yield { ...task, completedAt: null, stages: [], subTasks: [] } as never;
          },
        },
      };
      return endOf(fixture.receiver.reconcile(client, { taskIds: ["task-1"] }), clock);
    },
    "INBOX_UNAVAILABLE: inbox: insert did not return within acceptTimeoutMs (2000)",
  ],
  [
    "orderWebhook waits for another delivery of the task",
    () =>
      reportedBy(
        ({ clock, onError }) => orderWebhook({ inbox: memoryInbox(), clock, onError, waitMs: 4_000 }),
        2,
      ),
    "INBOX_UNAVAILABLE: another delivery of the same task or stage was still being handled after waitMs (4000)",
  ],
  ...(
    [
      ["no client", "no client of the pool was available within 3000 ms (queryTimeoutMs is 3000)"],
      ["a silent client", "no response in 3000 ms (queryTimeoutMs is 3000), outcome unknown"],
    ] as const
  ).map(
    ([has, message]) =>
      [
        `a query waits for a pool that has ${has}`,
        () => {
          const clock = createFixtureClock();
          return endOf(boundPool(silentPool(has), 3_000, clock).query("SELECT 1"), clock);
        },
        `INBOX_UNAVAILABLE: postgres inbox: ${message}`,
      ] as const,
  ),
  ...(["insert", "open"] as const).map(
    (method) =>
      [
        `${method} of the PostgreSQL inbox waits for a lock of another session`,
        async () => {
          const inbox = lockedInbox();
          const call = method === "insert" ? inbox.insert(runningAt("task-1", 1)) : inbox.open();
          return call.then(() => "it ended well", describeError);
        },
        "INBOX_UNAVAILABLE: postgres inbox: another session holds a lock of the inbox for longer than lock_timeout",
      ] as const,
  ),
];

describe("an error that ends a wait names what was waited for, and the limit", () => {
  it.each(waits)("when %s", async (_wait, end, expected) => {
    expect(await end()).toContain(expected);
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
    const wait = endOf(call, clock, limitMs - 1);
    expect(await wait).toBe("it did not end");
    expect(await endOf(call, clock, 1)).toContain(
      `INBOX_UNAVAILABLE: inbox: ${name} did not return within ${limitMs} ms`,
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
    const row = { seq: 1, first: 1, last: 1, is_expired: true };
    let statements = 0;
    const query = ({ text: sql }: { text: string }) => {
      if (!sql.includes("DELETE FROM") || !sql.includes(part)) return Promise.resolve({ rows: [row] });
      statements += 1;
      return hang();
    };
    const client = { query, release() {}, on() {}, removeListener() {} };
    const inbox = postgresInbox({ connect: async () => client as never }, { queryTimeoutMs: 5 });
    const retention = { bodiesMs: 1, rowsMs: 1, headsMs: 1, unhandledBodiesMs: 1 };
    await expect(inbox.purge(retention, 10)).rejects.toThrow("in 30 ms (queryTimeoutMs is 5)");
    expect(statements).toBe(1);
  });
});
