// The primary of three servers is lost with its disk while deliveries arrive; the standby that has received most becomes
// the primary. The receivers are not restarted.

import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { expect, it } from "vitest";
import { createReceiver, silentLogger } from "workspace-tasks/receiver-kit";
import { type PostgresTransaction, postgresInbox, primaryPool } from "workspace-tasks/receiver-kit/postgres";
import { instant } from "../support/inbox-rows.ts";
import { PostgresCluster } from "../support/postgres-cluster.ts";
import { completedEvent, sampleEvent } from "../support/sample-event.ts";
import { postgresTemplate } from "../support/shared-server.ts";
import { secretA, signDelivery } from "../support/signed-delivery.ts";
import { describeWithPostgres } from "../support/with-postgres.ts";

const tasksCount = 12;

/** A receiver whose handlers write each event and the newest state of its task. */
function createMember(urls: readonly string[]) {
  const pools = urls.map(
    (connectionString) => new pg.Pool({ connectionString, max: 12, connectionTimeoutMillis: 1_000 }),
  );
  const receiver = createReceiver<PostgresTransaction>({
    secrets: [secretA],
    inbox: postgresInbox(primaryPool(pools), { queryTimeoutMs: 2_000 }),
    ...{ concurrency: 4, leaseMs: 2_000, pollMs: 200, acceptTimeoutMs: 3_000, logger: silentLogger },
    retry: { firstDelayMs: 50, delayMsMax: 500, attemptsMax: 1_000 },
  });
  receiver.on("task.*", async (_, { id, transaction }) => {
    await transaction.query("INSERT INTO effects VALUES ($1)", [id]);
  });
  receiver.onState("task", async ({ taskId, occurredAt }, { transaction }) => {
    const upsert = "INSERT INTO states VALUES ($1, $2) ON CONFLICT (task) DO UPDATE SET at = excluded.at";
    await transaction.query(upsert, [taskId, occurredAt]);
  });
  return {
    receiver,
    async [Symbol.asyncDispose]() {
      await receiver.close();
      // The servers stop while connections still close.
      await Promise.all(pools.map((pool) => pool.on("error", () => {}).end()));
    },
  };
}

describeWithPostgres("receivers on a primary with two standbys", () => {
  it("lose no acknowledged delivery and apply none twice when the primary and its disk are lost", async () => {
    await using cluster = await PostgresCluster.start({ template: await postgresTemplate() });
    const setUp = new pg.Client({ connectionString: cluster.primary.url() });
    await setUp.connect();
    await setUp.query("CREATE TABLE effects (id text); CREATE TABLE states (task text PRIMARY KEY, at text)");
    // By the settings that docs/production.md shows.
    const standbys = await setUp.query(
      "SELECT application_name, sync_state FROM pg_stat_replication ORDER BY 1",
    );
    expect(standbys.rows).toEqual(
      ["standby_2", "standby_3"].map((name) => ({ application_name: name, sync_state: "quorum" })),
    );
    await setUp.end();
    await using first = createMember(cluster.urls);
    await using second = createMember(cluster.urls.toReversed());
    const receivers = [first.receiver, second.receiver];
    for (const receiver of receivers) await receiver.start();

    const acknowledged = new Set<string>();
    const newest = new Map<string, string>();
    let isOver = false;
    /** Sends each delivery until it is acknowledged, as the service does. */
    const send = async (name: number) => {
      for (let n = 0; !isOver; n++) {
        const taskId = `task-${(n * 7 + name) % tasksCount}`;
        const occurredAt = instant(n * 4 + name);
        const event = (n % 2 ? completedEvent : sampleEvent)({ taskId, occurredAt });
        const id = `msg_${name}_${n}`;
        while (!acknowledged.has(id)) {
          const timestampSeconds = Math.floor(Date.now() / 1000);
          const { headers, body } = signDelivery({ body: JSON.stringify(event), timestampSeconds, id });
          const request = new Request("http://receiver/webhooks", { method: "POST", headers, body });
          const { status } = (await receivers[(n + name) % 2]?.fetch(request)) ?? { status: 0 };
          if (status === 200) acknowledged.add(id);
          else await pause(20);
        }
        if (occurredAt > (newest.get(taskId) ?? "")) newest.set(taskId, occurredAt);
        await pause(5);
      }
    };
    const sending = Promise.all([0, 1, 2, 3].map(send));
    await expect.poll(() => acknowledged.size).toBeGreaterThan(100);
    await cluster.primary.lose();
    const before = acknowledged.size;
    await cluster.promote();
    await expect.poll(() => acknowledged.size, { timeout: 60_000 }).toBeGreaterThan(before + 100);
    isOver = true;
    await sending;

    const reader = new pg.Client({ connectionString: cluster.primary.url() });
    await reader.connect();
    const handled = async () =>
      (await reader.query("SELECT id FROM effects")).rows.map(({ id }) => String(id));
    const missing = async () => {
      const ids = new Set(await handled());
      return [...acknowledged].filter((id) => !ids.has(id));
    };
    await expect.poll(missing, { timeout: 60_000, interval: 200 }).toEqual([]);
    const ids = await handled();
    expect(ids.length, "effects of one delivery").toBe(new Set(ids).size);
    const states = await reader.query("SELECT task, at FROM states ORDER BY task");
    expect(states.rows).toEqual([...newest].toSorted().map(([task, at]) => ({ task, at })));
    const listening = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN%' OR query = 'SELECT 1'";
    await expect.poll(async () => (await reader.query(listening)).rows.length).toBeGreaterThan(0);
    await reader.end();
  }, 240_000);
});
