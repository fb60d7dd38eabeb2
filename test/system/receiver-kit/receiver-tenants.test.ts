// Many tenants in one process on the documented pool of 14 clients, with a receiver each.

import { createReceiver, type Receiver, silentLogger } from "@workspace-tasks/receiver-kit";
import { type PostgresTransaction, postgresInbox } from "@workspace-tasks/receiver-kit/postgres";
import type pg from "pg";
import { expect, it } from "vitest";
import { completedEvent, sampleEvent } from "../../support/sample-event.ts";
import { sharedPostgres } from "../../support/shared-server.ts";
import { secretA, signDelivery } from "../../support/signed-delivery.ts";
import { describeWithPostgres } from "../../support/with-postgres.ts";

const tenantCount = 30;
const eventsPerTenant = 4;
const names = Array.from({ length: tenantCount }, (_, index) => `tenant-${index}`);

describeWithPostgres("30 tenants on a pool of 14 clients", () => {
  async function createPool() {
    const database = await (await sharedPostgres()).database();
    const pool = database.pool({ max: 14 });
    await pool.query("CREATE TABLE effects (tenant text, task text, status text)");
    return { database, pool };
  }

  // On a busy machine the last of 240 deliveries waits long.
  const options = { concurrency: 8, acceptTimeoutMs: 60_000, logger: silentLogger };

  /** Each event of a tenant and its repetition, all at once; returns the statuses of the responses. */
  async function sendAll(receiverOf: (tenant: string) => Receiver<PostgresTransaction>) {
    const sent = names.flatMap((name) =>
      Array.from({ length: eventsPerTenant }, async (_, index) => {
        const taskId = `task-${index % 2}`;
        const fields = { workspaceId: `workspace of ${name}`, taskId, id: `event-${index}` };
        const event = index < 2 ? sampleEvent(fields) : completedEvent({ ...fields, occurredAt: later });
        const body = JSON.stringify(event);
        const timestampSeconds = Math.floor(Date.now() / 1000);
        const { headers } = signDelivery({ body, id: `msg_${index}`, timestampSeconds, secret: secretA });
        const url = `https://receiver.example/webhooks/${name}`;
        const send = () => receiverOf(name).fetch(new Request(url, { method: "POST", headers, body }));
        return (await Promise.all([send(), send()])).map(({ status }) => status);
      }),
    );
    return new Set((await Promise.all(sent)).flat());
  }

  async function expectEachTenantOnce(pool: pg.Pool) {
    const finalStates = `SELECT count(*) AS rows, count(DISTINCT tenant) AS tenants FROM effects
      WHERE status = 'COMPLETED'`;
    const twice = "SELECT 1 FROM effects GROUP BY tenant, task, status HAVING count(*) > 1";
    await expect
      .poll(async () => (await pool.query(finalStates)).rows[0], { interval: 100 })
      .toEqual({ rows: String(tenantCount * 2), tenants: String(tenantCount) });
    expect((await pool.query(twice)).rows).toEqual([]);
  }

  const listening = `SELECT count(*) AS count FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE 'LISTEN%'`;

  it("30 tenants are served by a receiver each, which share one listening connection", {
    timeout: 120_000,
  }, async () => {
    const { database, pool } = await createPool();
    await using _ = database;
    const receivers = new Map(
      names.map((source) => {
        const own = { source, concurrency: 1, pollMs: 30_000, secrets: [secretA] };
        const receiver = createReceiver({ ...options, ...own, inbox: postgresInbox(pool) });
        receiver.onState("task", async ({ taskId, status }, { transaction }) => {
          await transaction.query("INSERT INTO effects VALUES ($1, $2, $3)", [source, taskId, status]);
        });
        return [source, receiver];
      }),
    );
    await Promise.all([...receivers.values()].map((receiver) => receiver.start()));
    expect((await pool.query(listening)).rows).toEqual([{ count: "1" }]);
    expect(pool.listenerCount("error")).toBe(2);
    expect(await sendAll((name) => receivers.get(name) as Receiver<PostgresTransaction>)).toEqual(
      new Set([200]),
    );
    await expectEachTenantOnce(pool);
    await Promise.all([...receivers.values()].map((receiver) => receiver.close()));
    await expect.poll(async () => (await pool.query(listening)).rows).toEqual([{ count: "0" }]);
  });
});

const later = "2026-03-01T10:30:00.000Z";
