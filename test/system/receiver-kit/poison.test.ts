// An event whose handler ends the process at every attempt, in a backlog of others. A supervisor starts the receiver again
// each time.

import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { InboxRowSummary } from "../../../receiver-kit/inbox/inbox.ts";
import { runningAt } from "../../support/inbox-rows.ts";
import { KillableReceiver } from "../../support/killable-receiver.ts";
import { sharedPostgres } from "../../support/shared-server.ts";
import { itWithPostgres } from "../../support/with-postgres.ts";
import { openStores, type ReceiverStore, type StoreName } from "../chaos/cells/receiver-store.ts";

const attemptsMax = 4;
const concurrency = 8;
const poison = "poison";
const timeoutMs = 300_000;

/** The poisonous event is among the first that are claimed together, with others of its task behind it. */
async function storeBacklog({ inbox }: ReceiverStore): Promise<number> {
  const rows = [
    ...Array.from({ length: 3 }, (_, n) => runningAt(`before-${n}`, 1)),
    ...[1, 2, 3].map((second) =>
      runningAt(poison, second, { id: second === 1 ? poison : `behind-${second}` }),
    ),
    ...Array.from({ length: 3 * concurrency }, (_, n) => runningAt(`after-${n}`, 1)),
  ];
  for (const row of rows) await inbox.insert(row);
  return rows.length;
}

const isEnded = ({ state }: InboxRowSummary) => state !== "pending" && state !== "running";

/** Returns how often a process has ended. */
async function runUntilAllHaveEnded({ location, inbox }: ReceiverStore): Promise<number> {
  // Before the last attempt, tasks are due half a second apart: time enough for a handler on a busy machine.
  const plan = { firstDelayMs: 2_000, attemptsMax };
  const options = { store: location, leaseMs: 500, concurrency, handlerMs: 10, poison, ...plan };
  const load = () => KillableReceiver.load(options);
  // The next process loads its modules meanwhile.
  let next = load();
  try {
    for (let crashes = 0; crashes <= 2 * attemptsMax; crashes++) {
      await using receiver = await next;
      next = load();
      const ended = receiver.run().then(() => true);
      let hasEnded = false;
      while (!hasEnded) {
        if ((await inbox.list({ limit: 1_000 })).every(isEnded)) return crashes;
        hasEnded = await Promise.race([ended, pause(20, false)]);
      }
    }
    return Number.POSITIVE_INFINITY;
  } finally {
    await (await next).kill();
  }
}

async function check(name: StoreName): Promise<void> {
  await using stores = await openStores(name, name === "postgres" ? await sharedPostgres() : undefined);
  await using store = await stores.create();
  const count = await storeBacklog(store);
  const crashes = await runUntilAllHaveEnded(store);
  expect(crashes).toBeGreaterThan(0);
  // Fewer where a lease ended on a busy machine before the handler began.
  expect(crashes).toBeLessThanOrEqual(attemptsMax);
  const rows = await store.inbox.list({ limit: 1_000 });
  const dead = rows.filter(({ state }) => state === "dead");
  expect(dead.map(({ id, attempts }) => ({ id, attempts }))).toEqual([{ id: poison, attempts: attemptsMax }]);
  const effects = await store.query("SELECT webhook_id FROM effects");
  expect(effects).toHaveLength(count - 1);
  expect(new Set(effects.map((effect) => effect["webhook_id"])).size).toBe(count - 1);
}

describe("an event whose handler ends the process each time", () => {
  const sentence = "ends as dead, and all others of its task and of other tasks are handled";
  it(`${sentence}, on SQLite`, () => check("sqlite"), timeoutMs);
  itWithPostgres(`${sentence}, on PostgreSQL`, () => check("postgres"), timeoutMs);
});
