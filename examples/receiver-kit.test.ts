// The parts of the receiver kit in a few lines each.

import type { IncomingMessage } from "node:http";
import { createReceiver, createVerifier, memoryInbox } from "@workspace-tasks/receiver-kit";
import {
  dedupeWebhook,
  orderWebhook,
  verifyWebhook,
  webhookMiddleware,
} from "@workspace-tasks/receiver-kit/express";
import { inboxPage } from "@workspace-tasks/receiver-kit/page";
import { postgresInbox, primaryPool } from "@workspace-tasks/receiver-kit/postgres";
import { sqliteInbox } from "@workspace-tasks/receiver-kit/sqlite";
import express from "express";
import Database from "libsql";
import pg from "pg";
import { expect, it } from "vitest";
import { serveExpress } from "../test/support/express-server.ts";
import { completedEvent, sampleEvent } from "../test/support/sample-event.ts";
import { sharedPostgres } from "../test/support/shared-server.ts";
import { signDelivery, secretA as signingSecret } from "../test/support/signed-delivery.ts";
import { withFolder } from "../test/support/with-folder.ts";
import { itWithPostgres } from "../test/support/with-postgres.ts";

const sign = (event: object) =>
  signDelivery({ body: JSON.stringify(event), timestampSeconds: Math.floor(Date.now() / 1000) });

async function deliver(url: string, event: object): Promise<number> {
  const { headers, body } = sign(event);
  return (await fetch(url, { method: "POST", headers, body })).status;
}

it("a receiver in Express writes the newest state of a task into its SQLite file", () =>
  withFolder(async (folder) => {
    const file = `${folder}/webhooks.db`;
    const database = new Database(file);
    database.exec("CREATE TABLE task_states (task_id TEXT PRIMARY KEY, status TEXT)");
    // #region receiver
    const receiver = createReceiver({ secrets: [signingSecret], inbox: sqliteInbox(file) });
    receiver.onState("task", async ({ taskId, status }, { transaction }) => {
      // Committed together with the event, or not at all.
      await transaction.query("INSERT OR REPLACE INTO task_states VALUES (?, ?)", [taskId, status]);
    });
    await receiver.start();
    // #endregion
    await using server = await serveExpress((app) => {
      // #region express
      app.post("/webhooks", webhookMiddleware(receiver)); // before any body parser
      app.use(express.json());
      // #endregion
    });
    expect(await deliver(`${server.origin}/webhooks`, completedEvent({ taskId: "task-1" }))).toBe(200);
    const states = () => database.prepare("SELECT * FROM task_states").all([]);
    await expect.poll(states).toEqual([{ task_id: "task-1", status: "COMPLETED" }]);
    await receiver.close();
    database.close();
  }));

it("a memory inbox applies the changes of a handler when the event counts as handled", async () => {
  const states = new Map<string, string>();
  // #region memory
  const receiver = createReceiver({ secrets: [signingSecret], inbox: memoryInbox() });
  receiver.onState("task", ({ taskId, status }, { transaction }) => {
    transaction.apply(() => states.set(taskId, status));
  });
  await receiver.start();
  // #endregion
  const { headers, body } = sign(completedEvent({ taskId: "task-1" }));
  await receiver.fetch(new Request("http://receiver.test", { method: "POST", headers, body }));
  await expect.poll(() => states.get("task-1")).toBe("COMPLETED");
  await receiver.close();
});

it("a handler of batches writes many events into a SQLite file at once", () =>
  withFolder(async (folder) => {
    const file = `${folder}/webhooks.db`;
    const database = new Database(file);
    database.exec("CREATE TABLE history (task_id TEXT, event TEXT)");
    // #region event-batch
    const receiver = createReceiver({ secrets: [signingSecret], inbox: sqliteInbox(file) });
    receiver.onBatch("task.*", async (items, { transaction }) => {
      const rows = items.map(({ event }) => [event.taskId, event.event]);
      const insert = "INSERT INTO history SELECT value ->> 0, value ->> 1 FROM json_each(?)";
      await transaction.query(insert, [JSON.stringify(rows)]);
    });
    // #endregion
    for (const taskId of ["task-1", "task-2"]) {
      const { headers, body } = sign(completedEvent({ taskId }));
      await receiver.fetch(new Request("http://receiver.test", { method: "POST", headers, body }));
    }
    await receiver.start();
    const history = () => database.prepare("SELECT task_id FROM history ORDER BY 1").all([]);
    await expect.poll(history).toEqual([{ task_id: "task-1" }, { task_id: "task-2" }]);
    await receiver.close();
    database.close();
  }));

it("an operator who is logged in sees the page of the inbox", async () => {
  const receiver = createReceiver({ secrets: [signingSecret], inbox: memoryInbox() });
  const sessionOf = ({ headers }: IncomingMessage | Request) =>
    "cookie" in headers ? { email: "ada@example.com" } : undefined;
  await using server = await serveExpress((app) => {
    // #region page
    // Behind the login of the application: who is not logged in gets nothing.
    const authorize = (request: IncomingMessage | Request) => sessionOf(request)?.email;
    app.use("/inbox", inboxPage(receiver, { authorize }));
    // #endregion
  });
  const overview = (headers: Record<string, string>) =>
    fetch(`${server.origin}/inbox/api/overview`, { headers });
  expect((await overview({})).status).toBe(401);
  const shown = await overview({ cookie: "session=1" });
  expect([shown.status, await shown.json()]).toEqual([
    200,
    expect.objectContaining({ actor: "ada@example.com" }),
  ]);
  await receiver.close();
});

itWithPostgres("a handler of batches writes the states of many tasks with one statement", async () => {
  await using server = await (await sharedPostgres()).database();
  const pool = server.pool();
  await pool.query("CREATE TABLE task_states (task_id text PRIMARY KEY, status text)");
  // #region state-batch
  const receiver = createReceiver({ secrets: [signingSecret], inbox: postgresInbox(pool) });
  receiver.onStateBatch("task", async (items, { transaction }) => {
    await transaction.query(
      `INSERT INTO task_states SELECT * FROM unnest($1::text[], $2::text[])
       ON CONFLICT (task_id) DO UPDATE SET status = excluded.status`,
      [items.map(({ event }) => event.taskId), items.map(({ event }) => event.status)],
    );
  });
  // #endregion
  for (const taskId of ["task-1", "task-2"]) {
    for (const event of [sampleEvent({ taskId }), completedEvent({ taskId })]) {
      const { headers, body } = sign(event);
      await receiver.fetch(new Request("http://receiver.test", { method: "POST", headers, body }));
    }
  }
  await receiver.start();
  const states = async () => (await pool.query("SELECT * FROM task_states ORDER BY 1")).rows;
  const completed = ["task-1", "task-2"].map((task_id) => ({ task_id, status: "COMPLETED" }));
  await expect.poll(states).toEqual(completed);
  await receiver.close();
  await pool.end();
});

it("a SQLite inbox takes a file name or options", async () => {
  // #region sqlite
  const inbox = sqliteInbox({ path: "webhooks.db", driver: "libsql", transactionTimeoutMs: 500 });
  // #endregion
  expect(inbox.durable).toBe(true);
});

it("a PostgreSQL inbox takes a pool that is large enough for the handlers", async () => {
  // #region failover
  const hosts = ["db1.internal", "db2.internal", "db3.internal"];
  const pools = hosts.map((host) => new pg.Pool({ host, max: 14, connectionTimeoutMillis: 1_500 }));
  const inbox = postgresInbox(primaryPool(pools));
  // #endregion
  expect(inbox.durable).toBe(true);
  // #region postgres
  const concurrency = 8;
  const pool = new pg.Pool({
    connectionString: process.env["DATABASE_URL"],
    max: concurrency + 6,
    connectionTimeoutMillis: 5_000,
  });
  const receiver = createReceiver({ secrets: [signingSecret], inbox: postgresInbox(pool), concurrency });
  // #endregion
  expect(receiver.limits.bodyBytesMax).toBe(1_048_576);
  await receiver.close();
  await pool.end();
});

it("three middlewares verify, deduplicate and order deliveries that the request itself handles", async () => {
  const handled: unknown[] = [];
  await using server = await serveExpress((app) => {
    // #region middlewares
    const inbox = memoryInbox(); // in production sqliteInbox or postgresInbox
    app.post(
      "/webhooks",
      verifyWebhook({ secrets: [signingSecret] }),
      dedupeWebhook({ inbox }),
      orderWebhook({ inbox }),
      (request, response) => {
        handled.push(request.webhook?.event?.event);
        response.sendStatus(204);
      },
    );
    // #endregion
  });
  expect(
    await deliver(
      `${server.origin}/webhooks`,
      completedEvent({ taskId: "t", occurredAt: "2026-03-01T00:00:02Z" }),
    ),
  ).toBe(204);
  expect(
    await deliver(
      `${server.origin}/webhooks`,
      sampleEvent({ taskId: "t", occurredAt: "2026-03-01T00:00:01Z" }),
    ),
  ).toBe(200);
  expect(handled).toEqual(["task.completed"]);
});

it("a verifier checks a delivery that a queue stored earlier", async () => {
  const { headers, body: rawBody } = sign(sampleEvent());
  const receivedAt = Date.now();
  // #region verifier
  const verifier = createVerifier({ secrets: [signingSecret] });
  const { id, body } = await verifier.verify(rawBody, headers, { receivedAt });
  // #endregion
  expect([id, body]).toEqual([headers["webhook-id"], rawBody]);
});
