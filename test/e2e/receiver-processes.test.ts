// Several receiver processes on one PostgreSQL inbox. Every handled event records its start and its end.

import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import type { Inbox, NewInboxRow } from "workspace-tasks/receiver-kit";
import { postgresInbox } from "workspace-tasks/receiver-kit/postgres";
import { DeliverySender, type DeliveryToSend } from "../support/delivery-sender.ts";
import { instant, newRowOf } from "../support/inbox-rows.ts";
import { KillableReceiver, receiverTables } from "../support/killable-receiver.ts";
import { completedEvent, sampleEvent } from "../support/sample-event.ts";
import { sharedPostgres } from "../support/shared-server.ts";
import { describeWithPostgres } from "../support/with-postgres.ts";

type Effect = {
  readonly webhook_id: string;
  readonly task: string;
  readonly occurred_at: string;
  readonly stale: string;
  readonly process: string;
  readonly began: number;
  readonly ended: number;
};

const count = 3;

describeWithPostgres("receiver processes on one inbox", { timeout: 120_000 }, () => {
  it("receiver processes share a backlog, handle no event twice, and keep the order of each task", async () => {
    await using database = await (await sharedPostgres()).database();
    await createTables(database.pool());
    const inbox = postgresInbox(database.pool());
    await inbox.open();
    const rows: NewInboxRow[] = [];
    /** An event of each of forty tasks, in random order. */
    const store = async (tasks: string, second: number) => {
      const events = Array.from({ length: 40 }, (_, n) =>
        newRowOf(sampleEvent({ taskId: `${tasks}-${n}`, occurredAt: instant(second) })),
      );
      rows.push(...events);
      await Promise.all(events.toSorted(() => Math.random() - 0.5).map((row) => inbox.insert(row)));
    };
    await Promise.all([0, 1, 2, 3, 4].map((second) => store("backlog", second)));

    await using processes = await startProcesses(database.url);
    const pool = database.pool();
    const processesOf = (effects: readonly Effect[]) => new Set(effects.map(({ process }) => process)).size;
    // On a busy machine one of them may start when the others have handled everything.
    while (processesOf(await readEffects(pool)) < count) {
      const tasks = `more-${rows.length}`;
      for (const second of [0, 1, 2, 3, 4]) await store(tasks, second);
    }
    await settled(inbox);
    const effects = await readEffects(pool);

    expect(effects.map(({ webhook_id }) => webhook_id).toSorted()).toEqual(
      rows.map(({ id }) => id).toSorted(),
    );
    expect(processesOf(effects)).toBe(count);
    for (const handled of byTask(effects)) {
      // Nothing arrived late, so nothing was stale: the events of a task ran from the oldest to the newest.
      expect(handled.map(({ occurred_at }) => occurred_at)).toEqual([0, 1, 2, 3, 4].map(instant));
      expect(overlaps(handled)).toEqual([]);
    }
    await processes.stop();
  });

  it("an id that all receiver processes receive at the same time is stored once, and the newest event of each task applied", async () => {
    await using database = await (await sharedPostgres()).database();
    await createTables(database.pool());
    const inbox = postgresInbox(database.pool());
    await using processes = await startProcesses(database.url);
    const deliveries = Array.from({ length: 30 }, (_, n) => eventsOf(`task-${n}`)).flat();
    const senders = processes.ports.map((port) => {
      const sender = new DeliverySender();
      sender.aimAt(port);
      return sender;
    });
    await Promise.all(
      senders.map((sender) =>
        sender.sendAll(
          deliveries.toSorted(() => Math.random() - 0.5),
          8,
        ),
      ),
    );
    await settled(inbox);
    for (const sender of senders) sender[Symbol.dispose]();
    const effects = await readEffects(database.pool());
    expect(effects.map(({ webhook_id }) => webhook_id).toSorted()).toEqual(
      deliveries.map(({ id }) => id).toSorted(),
    );
    for (const handled of byTask(effects)) expect(overlaps(handled)).toEqual([]);
    const { rows } = await database.pool().query("SELECT DISTINCT status, occurred_at FROM task_states");
    expect(rows).toEqual([{ status: "COMPLETED", occurred_at: instant(9) }]);
    await processes.stop();
  });
});

async function createTables(pool: { query(text: string): Promise<unknown> }): Promise<void> {
  for (const statement of receiverTables) await pool.query(statement);
}

async function startProcesses(store: string) {
  const options = { store, leaseMs: 30_000, concurrency: 4, handlerMs: 5, connectionTimeoutMs: 20_000 };
  const loaded = await Promise.all(Array.from({ length: count }, () => KillableReceiver.load(options)));
  // At the same time, so that their migrations compete.
  const ports = await Promise.all(loaded.map((each) => each.begin()));
  return {
    ports,
    stop: () => Promise.all(loaded.map((each) => each.stop())),
    async [Symbol.asyncDispose]() {
      await Promise.all(loaded.map((each) => each[Symbol.asyncDispose]()));
    },
  };
}

async function settled(inbox: Inbox): Promise<void> {
  while ((await inbox.backlog("default", 1)) > 0) await pause(10);
}

async function readEffects(pool: { query(text: string): Promise<{ rows: unknown[] }> }) {
  const { rows } = await pool.query("SELECT * FROM effects ORDER BY began, ended");
  return (rows as Effect[]).map((row) => ({ ...row, began: Number(row.began), ended: Number(row.ended) }));
}

const byTask = (effects: readonly Effect[]): readonly (readonly Effect[])[] =>
  [...new Set(effects.map(({ task }) => task))].map((task) => effects.filter((each) => each.task === task));

/** Pairs of events whose handling overlapped; equal microseconds do not count. */
function overlaps(handled: readonly Effect[]): readonly (readonly [string, string])[] {
  return handled.flatMap((effect, index) => {
    const next = handled[index + 1];
    return next && next.began < effect.ended ? [[effect.webhook_id, next.webhook_id] as const] : [];
  });
}

function eventsOf(taskId: string): readonly DeliveryToSend[] {
  const running = Array.from({ length: 4 }, (_, second) =>
    sampleEvent({ taskId, occurredAt: instant(second) }),
  );
  return [...running, completedEvent({ taskId, occurredAt: instant(9) })].map((event) => ({
    id: `msg_${String(event["id"])}`,
    body: JSON.stringify(event),
  }));
}
