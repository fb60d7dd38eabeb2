// Receiver processes killed with SIGKILL during traffic, and PostgreSQL stopped immediately. The sender records what was
// acknowledged. WORKSPACE_TASKS_CRASH_ROUNDS=300 runs it for longer.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Inbox, RowSummary } from "workspace-tasks/receiver-kit";
import { postgresInbox } from "workspace-tasks/receiver-kit/postgres";
import { sqliteInbox } from "workspace-tasks/receiver-kit/sqlite";
import { loadSqliteDriver } from "../../receiver-kit/inbox/sqlite/sqlite-driver.ts";
import { DeliverySender, type DeliveryToSend } from "../support/delivery-sender.ts";
import { instant, runningAt } from "../support/inbox-rows.ts";
import { KillableReceiver, receiverTables } from "../support/killable-receiver.ts";
import { describeWithPostgres, hasPostgres, itWithPostgres } from "../support/machine.ts";
import { type PostgresDatabase, PostgresServer } from "../support/postgres.ts";
import { completedEvent, sampleEvent } from "../support/sample-event.ts";

const rounds = Number(process.env["WORKSPACE_TASKS_CRASH_ROUNDS"] ?? 4);
const tasksPerRound = 100;
const timeoutMs = 120_000 + rounds * 10_000;

type Effect = { readonly webhook_id: string };
type TaskState = { readonly task: string; readonly status: string };

/** A receiver's store, and access to it for the checks of the test. */
interface TestStore {
  readonly location: string;
  readonly inbox: Inbox;
  effects(): Promise<readonly Effect[]>;
  states(): Promise<readonly TaskState[]>;
}

let server: PostgresServer;
beforeAll(async () => {
  if (hasPostgres) server = await PostgresServer.start();
});
afterAll(() => server?.[Symbol.asyncDispose]());

describe("a receiver that is killed with SIGKILL during traffic", () => {
  it(
    "loses no acknowledged delivery and repeats no transactional effect on SQLite",
    async () => {
      const directory = await mkdtemp(path.join(tmpdir(), "workspace-tasks-crash-"));
      const location = path.join(directory, "inbox.db");
      const inbox = sqliteInbox(location);
      const connection = (await loadSqliteDriver())(location);
      for (const statement of receiverTables) connection.exec(statement);
      connection.close();
      const read = async <Row>(statement: string) => {
        const connection = (await loadSqliteDriver())(location);
        const rows = connection.query(statement) as readonly Row[];
        connection.close();
        return rows;
      };
      await crashRounds({
        location,
        inbox,
        effects: () => read("SELECT webhook_id FROM effects"),
        states: () => read("SELECT task, status FROM task_states"),
      });
      await inbox.close();
      await rm(directory, { recursive: true });
    },
    timeoutMs,
  );

  itWithPostgres(
    "loses no acknowledged delivery and repeats no transactional effect on PostgreSQL",
    async () => {
      await using database = await server.database();
      await crashRounds(await postgresStore(database));
    },
    timeoutMs,
  );
});

describeWithPostgres("a receiver whose PostgreSQL server stops immediately", () => {
  it(
    "loses no acknowledged delivery, and continues without a restart",
    async () => {
      await using database = await server.database();
      const store = await postgresStore(database);
      await using receiver = await KillableReceiver.load({ store: store.location });
      using sender = new DeliverySender();
      sender.aimAt(await receiver.begin());
      const deliveries = eventsOf("stop", tasksPerRound * 2);
      const sweep = sender.sweep(deliveries, 16);
      await reached(() => sender.acknowledged.size > deliveries.length / 4);
      await server.stopImmediately();
      expect(await sender.attempt(deliveries.at(-1)!)).toBe(503);
      await server.resume();
      await sweep;
      await sendUntilAcknowledged(sender, deliveries);
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

/** Sends to a receiver that is killed repeatedly, then lets the last one finish and compares. */
async function crashRounds(store: TestStore): Promise<void> {
  using sender = new DeliverySender();
  const all: DeliveryToSend[] = [];
  let killedInTraffic = 0;
  let next = await KillableReceiver.load({ store: store.location });
  for (let round = 0; round < rounds; round++) {
    await using receiver = next;
    const deliveries = eventsOf(`round-${round}`, tasksPerRound);
    all.push(...deliveries);
    const before = sender.acknowledged.size;
    const killAfter = before + Math.floor(Math.random() * deliveries.length * 0.8);
    sender.aimAt(await receiver.begin());
    let killed = false;
    const sweep = sender.sweep(deliveries, 16, () => killed);
    // The next receiver loads its modules meanwhile, which shortens the round.
    const loading = KillableReceiver.load({ store: store.location });
    await reached(() => sender.acknowledged.size >= killAfter);
    await receiver.kill();
    killed = true;
    await sweep;
    const gained = sender.acknowledged.size - before;
    if (gained > 0 && gained < deliveries.length) killedInTraffic += 1;
    next = await loading;
  }
  await using last = next;
  sender.aimAt(await last.begin());
  await store.inbox.open();
  await expectAcknowledgedAreStored(store, sender.acknowledged);
  await sendUntilAcknowledged(sender, all);
  await settled(store.inbox);
  await expectConsistent(store, sender.acknowledged);
  const ended = new Map((await store.states()).map(({ task, status }) => [task, status]));
  expect(new Set(ended.values())).toEqual(new Set(["COMPLETED"]));
  expect(ended.size).toBe(rounds * tasksPerRound);
  expect(killedInTraffic).toBeGreaterThan(0);
  await last.stop();
}

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

async function allRows(inbox: Inbox): Promise<readonly RowSummary[]> {
  return inbox.list({ limit: 1_000_000 });
}

async function settled(inbox: Inbox): Promise<void> {
  await reached(async () => (await inbox.backlog("default", 1)) === 0);
}

async function sendUntilAcknowledged(
  sender: DeliverySender,
  deliveries: readonly DeliveryToSend[],
): Promise<void> {
  const missing = () => deliveries.filter(({ id }) => !sender.acknowledged.has(id));
  for (let left = missing(); left.length > 0; left = missing()) await sender.sweep(left, 16);
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
    states: async () => (await pool.query("SELECT task, status FROM task_states")).rows,
  };
}

/** Polls for a condition in another process. */
async function reached(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await pause(5);
}
