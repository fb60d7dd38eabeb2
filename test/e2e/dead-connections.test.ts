// PostgreSQL behind a TCP proxy whose connections fall silent without being closed, with the pool that the documents
// show: no time limit of its own for queries.

import { setTimeout as pause } from "node:timers/promises";
import type pg from "pg";
import { beforeAll, expect, it } from "vitest";
import { createFreezingProxy } from "../support/freezing-proxy.ts";
import { instant } from "../support/inbox-rows.ts";
import { KillableReceiver, receiverTables } from "../support/killable-receiver.ts";
import type { PostgresDatabases } from "../support/postgres.ts";
import { sampleEvent } from "../support/sample-event.ts";
import { sharedPostgres } from "../support/shared-server.ts";
import { signDelivery } from "../support/signed-delivery.ts";
import { describeWithPostgres } from "../support/with-postgres.ts";

const hangsMs = 90_000;
const timeoutMs = 2 * hangsMs;

let server: PostgresDatabases;
beforeAll(async () => {
  server = await sharedPostgres();
});

/** Sends an event of another task every 40 ms, until `stop`, which resolves with what was acknowledged. */
function sendContinually(port: number) {
  const acknowledged: string[] = [];
  let sent = 0;
  let stopped = false;
  const send = async () => {
    const n = sent++;
    const id = `msg_${n}`;
    const body = JSON.stringify(sampleEvent({ taskId: `task-${n}`, occurredAt: instant(n) }));
    const { headers } = signDelivery({ id, body, timestampSeconds: Math.floor(Date.now() / 1000) });
    const request = { method: "POST", headers, body };
    // A receiver that ends closes its connections.
    const response = await fetch(`http://127.0.0.1:${port}/webhooks`, request).catch(() => undefined);
    if (!response) return;
    await response.text();
    if (response.status === 200) acknowledged.push(id);
    else expect(response.status).toBe(503);
  };
  const sending: Promise<void>[] = [];
  const run = (async () => {
    while (!stopped) {
      sending.push(send());
      await pause(40);
    }
    await Promise.all(sending);
  })();
  return {
    acknowledged,
    async stop() {
      stopped = true;
      await run;
      return acknowledged;
    },
  };
}

/** Without the receiver's own limits, only the system would notice after many minutes. */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const endsAtMs = performance.now() + hangsMs;
  while (!(await condition())) {
    if (performance.now() > endsAtMs) throw new Error(`not within ${hangsMs} ms`);
    await pause(20);
  }
}

const handled = async (pool: pg.Pool) =>
  (await pool.query("SELECT webhook_id FROM effects")).rows.map((row) => String(row.webhook_id));

async function fixture() {
  const database = await server.database();
  const direct = database.pool();
  for (const table of receiverTables) await direct.query(table);
  const proxy = await createFreezingProxy(server.port);
  const store = database.url.replace(`:${server.port}/`, `:${proxy.port}/`);
  const receiver = await KillableReceiver.load({
    ...{ store, leaseMs: 5_000, handlerMs: 20, connectionTimeoutMs: 5_000 },
  });
  const port = await receiver.begin();
  const sender = sendContinually(port);
  await until(async () => (await handled(direct)).length > 20);
  return {
    ...{ direct, proxy, receiver, sender },
    async expectAllHandledOnce(acknowledged: readonly string[]) {
      await until(async () => {
        const seen = new Set(await handled(direct));
        return acknowledged.every((id) => seen.has(id));
      });
      const effects = await handled(direct);
      expect(new Set(effects).size).toBe(effects.length);
    },
    async [Symbol.asyncDispose]() {
      await sender.stop();
      await receiver[Symbol.asyncDispose]();
      await proxy[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

async function recovery({ sender, direct }: Awaited<ReturnType<typeof fixture>>): Promise<void> {
  const accepted = sender.acknowledged.length;
  const before = (await handled(direct)).length;
  await Promise.all([
    until(() => sender.acknowledged.length > accepted),
    until(async () => (await handled(direct)).length > before),
  ]);
}

describeWithPostgres("a receiver whose PostgreSQL connections died silently", () => {
  it.concurrent(
    "accepts and handles again, handles all events once, and ends",
    async () => {
      await using at = await fixture();
      at.proxy.freezeExisting();
      await pause(100);
      await recovery(at);
      await at.expectAllHandledOnce(await at.sender.stop());
      await at.receiver.stop();
    },
    timeoutMs,
  );

  it.concurrent(
    "recovers from 15 s without any connection, and handles all events once",
    async () => {
      await using at = await fixture();
      at.proxy.freezeAll();
      await pause(15_000);
      at.proxy.heal();
      await recovery(at);
      await at.expectAllHandledOnce(await at.sender.stop());
      await at.receiver.stop();
    },
    timeoutMs,
  );

  it.concurrent(
    "ends when it is stopped right after its connections died",
    async () => {
      await using at = await fixture();
      at.proxy.freezeExisting();
      await at.receiver.stop();
    },
    timeoutMs,
  );

  it.concurrent(
    "ends when it is stopped without any connection, while handlers wait for theirs",
    async () => {
      await using at = await fixture();
      at.proxy.freezeAll();
      await at.receiver.stop();
    },
    timeoutMs,
  );
});
