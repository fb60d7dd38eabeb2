// Every wait of the receiver kit: what is waited for never comes, and the error names it and the option with the limit.

import { PassThrough } from "node:stream";
import type { VirtualClock } from "@workspace-tasks/mock-server";
import {
  orderWebhook,
  type ReceivedWebhook,
  type WebhookMiddleware,
} from "@workspace-tasks/receiver-kit/express";
import { primaryPool } from "@workspace-tasks/receiver-kit/postgres";
import { describe, expect, it } from "vitest";
import { handleFetch } from "../../../receiver-kit/http/fetch-handler.ts";
import type { InboxClaim, InboxStore } from "../../../receiver-kit/inbox/inbox.ts";
import { boundPool } from "../../../receiver-kit/inbox/postgres/connection/bounded-pool.ts";
import { encodeDelivery } from "../../../receiver-kit/rabbitmq/delivery-message.ts";
import { createConsumer } from "../../../receiver-kit/rabbitmq/rabbitmq-consumer.ts";
import { createIntake } from "../../../receiver-kit/rabbitmq/rabbitmq-intake.ts";
import { FakeAmqp } from "../../support/fake-amqp.ts";
import { claimOne, claimOptions, rowAt, settle, source } from "../../support/inbox-contract/contract-rows.ts";
import { runningAt } from "../../support/inbox-rows.ts";
import { memoryInbox, postgresInbox } from "../../support/inbox-stores.ts";
import { createFixtureClock, createReceiverFixture } from "../../support/receiver-fixture.ts";
import { sampleEvent } from "../../support/sample-event.ts";
import { secretA, signDelivery } from "../../support/signed-delivery.ts";
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

function brokerFixture() {
  const amqp = new FakeAmqp();
  const clock = createFixtureClock();
  const errors: unknown[] = [];
  const note = (fields: object) => void errors.push((fields as { err?: unknown }).err);
  const shared = {
    ...{ urls: ["amqp://one"], clock, random: () => 0.5 },
    logger: { info() {}, warn: note, error: note },
    operationTimeoutMs: 2_000,
  };
  return { amqp, clock, shared, errors: () => errors.map(describeError).join("\n") };
}

/** A consumer with one delivery, which `accept` does not store. */
async function consumerEnd(message: "of this version" | "of no version") {
  const { amqp, clock, shared, errors } = brokerFixture();
  const consumer = createConsumer({ ...shared, partitions: 1, receivers: [{ accept: hang }] }, amqp.connect);
  await consumer.start();
  const content = Buffer.from("{}");
  const delivery = { id: "m1", timestamp: 1, secretIndex: 0, body: content };
  const properties =
    message === "of this version"
      ? encodeDelivery({ webhook: delivery, source: "default", traceparent: undefined, receivedAtMs: 1 }, "1")
      : {};
  amqp.latest.consumers
    .at(-1)
    ?.deliver({ content, fields: { deliveryTag: 1, redelivered: false }, properties });
  await clock.advance(2 * minuteMs);
  return errors();
}

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
    "a request waits for its body",
    async () => {
      const clock = createFixtureClock();
      const body = "{}";
      const { headers } = signDelivery({ body, timestampSeconds: Math.floor(clock.now() / 1_000) });
      const fixture = createReceiverFixture({ clock, limits: { bodyTimeoutMs: 3_000 } });
      const rejections: unknown[] = [];
      const sink = { ...fixture.receiver, onRejected: (error: unknown) => void rejections.push(error) };
      const stream = new PassThrough();
      const request = new Request("https://receiver.example/", {
        ...{ method: "POST", headers, body: ReadableStream.from(stream), duplex: "half" },
      } as RequestInit);
      const response = handleFetch(sink, request);
      await endOf(response, clock, 3_000);
      await response;
      stream.destroy();
      return describeError(rejections[0]);
    },
    "BODY_TIMEOUT: request body: not complete after bodyTimeoutMs (3000)",
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
  [
    "primaryPool waits for a server",
    async () => {
      const clock = createFixtureClock();
      const pool = primaryPool([silentPool("no client")] as never, { clock });
      return endOf(Promise.resolve(pool.connect()), clock);
    },
    "primaryPool: no response within 1500 ms",
  ],
  [
    "an intake waits for a connection to the broker",
    async () => {
      const { amqp, clock, shared, errors } = brokerFixture();
      amqp.onConnect = hang;
      void createIntake({ ...shared, secrets: [secretA] }, amqp.connect).start();
      await clock.advance(minuteMs);
      return errors();
    },
    "BROKER_UNAVAILABLE: rabbitmq: one accepted no connection within operationTimeoutMs (2000)",
  ],
  [
    "an intake waits for a confirm of the broker",
    async () => {
      const { amqp, clock, shared } = brokerFixture();
      const intake = createIntake({ ...shared, secrets: [secretA] }, amqp.connect);
      await intake.start();
      return endOf(intake.accept({ id: "a", timestamp: 1, secretIndex: 0, body: Buffer.from("{}") }), clock);
    },
    "no confirm was received within 5000 ms",
  ],
  [
    "a consumer waits for its receiver to store a delivery",
    () => consumerEnd("of this version"),
    "the receiver did not store a delivery within 60000 ms",
  ],
  [
    "a consumer waits for the confirm of a delivery that it parks",
    () => consumerEnd("of no version"),
    "no confirm was received within operationTimeoutMs (2000)",
  ],
];

describe("an error that ends a wait names what was waited for, and the limit", () => {
  it.each(waits)("when %s", async (_wait, end, expected) => {
    expect(await end()).toContain(expected);
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
  purge: (inbox) => inbox.purge({ bodiesMs: 1, rowsMs: 1, headsMs: 1, unhandledBodiesMs: 1 }, 1),
  list: (inbox) => inbox.list({}),
  get: (inbox) => inbox.get(rowAt("task-1", 1)),
  replay: (inbox) => inbox.replay(rowAt("task-1", 1), rowAt("task-1", 1)),
  discard: (inbox) => inbox.discard(rowAt("task-1", 1)),
  stats: (inbox) => inbox.stats(),
  waitingSources: (inbox) => inbox.waitingSources(source),
  claim: (inbox) => inbox.claim(claimOptions()),
  renew: (inbox, { lease }) => inbox.renew([lease], 1),
  commit: (inbox, claim) => settle(inbox, claim),
  fail: (inbox, claim) => inbox.fail(claim, { kind: "release" }),
  repairTimes: (inbox) => inbox.repairTimes({ source, keyOrder: "latest" }),
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
