// PostgreSQL stopped immediately during traffic. The sender records what was acknowledged. test/crash kills receivers.

import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Inbox, InboxRowSummary } from "workspace-tasks/receiver-kit";
import { postgresInbox } from "workspace-tasks/receiver-kit/postgres";
import { DeliverySender, type DeliveryToSend } from "../support/delivery-sender.ts";
import { instant, runningAt } from "../support/inbox-rows.ts";
import { KillableReceiver, receiverTables } from "../support/killable-receiver.ts";
import type { PostgresDatabase, PostgresServer } from "../support/postgres.ts";
import { completedEvent, sampleEvent } from "../support/sample-event.ts";
import { ownPostgres } from "../support/shared-server.ts";
import { describeWithPostgres, hasPostgres } from "../support/with-postgres.ts";

const tasks = 100;
const timeoutMs = 300_000;

type Effect = { readonly webhook_id: string };

/** A receiver's store, and access to it for the checks of the test. */
interface TestStore {
  readonly location: string;
  readonly inbox: Inbox;
  effects(): Promise<readonly Effect[]>;
}

let server: PostgresServer;
beforeAll(async () => {
  if (hasPostgres) server = await ownPostgres();
});
afterAll(() => server?.[Symbol.asyncDispose]());

describeWithPostgres("a receiver whose PostgreSQL server stops immediately", () => {
  it(
    "loses no acknowledged delivery, and continues without a restart",
    async () => {
      await using database = await server.database();
      const store = await postgresStore(database);
      await using receiver = await KillableReceiver.load({
        store: store.location,
        connectionTimeoutMs: 20_000,
      });
      using sender = new DeliverySender();
      sender.aimAt(await receiver.begin());
      const deliveries = eventsOf("stop", tasks * 2);
      const sweep = sender.sweep(deliveries, 16);
      await reached(() => sender.acknowledged.size > deliveries.length / 4);
      await server.stopImmediately();
      expect(await sender.attempt(deliveries.at(-1)!)).toBe(503);
      await server.resume();
      await sweep;
      await sender.sendAll(deliveries, 16);
      await settled(store.inbox);
      await expectConsistent(store, sender.acknowledged);
      expect(sender.rejections.get(503)).toBeGreaterThan(0);
    },
    timeoutMs,
  );

  it(
    "loses no row of the inbox when the database has synchronous_commit off, which loses other rows",
    async () => {
      await using database = await server.database();
      const setting = database.pool({ max: 1 });
      await setting.query("CREATE TABLE plain (id text)");
      const name = new URL(database.url).pathname.slice(1);
      await setting.query(`ALTER DATABASE ${name} SET synchronous_commit = off`);
      await setting.query("ALTER SYSTEM SET wal_writer_delay = '10s'");
      await setting.query("SELECT pg_reload_conf()");
      const pool = database.pool();
      const inbox = postgresInbox(pool);
      await inbox.open();

      const stored = Array.from({ length: 40 }, (_, n) => runningAt(`task-${n}`, n, { id: `kept-${n}` }));
      await Promise.all(stored.map((row) => inbox.insert(row)));
      for (let n = 0; n < 40; n++) await pool.query("INSERT INTO plain VALUES ($1)", [`plain-${n}`]);
      await server.stopImmediately();
      await server.resume();

      const { rows } = await pool.query("SELECT count(*) AS count FROM plain");
      expect(Number(rows[0].count)).toBeLessThan(40);
      expect(await inbox.list({ limit: 100 })).toHaveLength(40);
      await inbox.close();
      await pool.query("ALTER SYSTEM RESET wal_writer_delay");
    },
    timeoutMs,
  );
});

/** Every acknowledged id has a row, and every row was handled and has exactly one effect. */
async function expectConsistent(store: TestStore, acknowledged: ReadonlySet<string>): Promise<void> {
  await expectAcknowledgedAreStored(store, acknowledged);
  const rows = await allRows(store.inbox);
  expect(rows.filter(({ state }) => state !== "done" && state !== "stale")).toEqual([]);
  const effects = (await store.effects()).map(({ webhook_id }) => webhook_id);
  expect(effects.toSorted()).toEqual(rows.map(({ id }) => id).toSorted());
}

async function expectAcknowledgedAreStored(
  store: TestStore,
  acknowledged: ReadonlySet<string>,
): Promise<void> {
  const stored = new Set((await allRows(store.inbox)).map(({ id }) => id));
  expect([...acknowledged].filter((id) => !stored.has(id))).toEqual([]);
}

async function allRows(inbox: Inbox): Promise<readonly InboxRowSummary[]> {
  return inbox.list({ limit: 1_000_000 });
}

async function settled(inbox: Inbox): Promise<void> {
  await reached(async () => (await inbox.backlog("default", 1)) === 0);
}

/** Two events of each task in random order, every tenth of them twice. */
function eventsOf(name: string, tasks: number): readonly DeliveryToSend[] {
  const deliveries = Array.from({ length: tasks }, (_, n) => {
    const taskId = `${name}-task-${n}`;
    const events = [
      sampleEvent({ taskId, occurredAt: instant(1) }),
      completedEvent({ taskId, occurredAt: instant(2) }),
    ];
    return events.map((event) => ({ id: `${taskId}-${event["status"]}`, body: JSON.stringify(event) }));
  }).flat();
  const repeated = deliveries.filter((_, index) => index % 10 === 0);
  return [...deliveries, ...repeated].toSorted(() => Math.random() - 0.5);
}

async function postgresStore(database: PostgresDatabase): Promise<TestStore> {
  const pool = database.pool();
  for (const statement of receiverTables) await pool.query(statement);
  return {
    location: database.url,
    inbox: postgresInbox(pool),
    effects: async () => (await pool.query("SELECT webhook_id FROM effects")).rows,
  };
}

/** Polls for a condition in another process. */
async function reached(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await pause(5);
}
