// A batch of events of four tasks, of which one has two, and an event whose handler always fails; and what can happen
// between its first query and the response to its commit. Whatever happens: each event has its effect once, and the bad
// one alone is dead.

import { fileURLToPath } from "node:url";
import { createReceiver, silentLogger } from "@workspace-tasks/receiver-kit";
import type { Pool } from "pg";
import { expect, it } from "vitest";
import { storeOf } from "../../../../../receiver-kit/inbox/inbox.ts";
import { bundledProgram } from "../../../../support/bundled-program.ts";
import { atDepth } from "../../../../support/depth.ts";
import { runningAt } from "../../../../support/inbox-rows.ts";
import { postgresInbox } from "../../../../support/inbox-stores.ts";
import { RunningProgram } from "../../../../support/running-program.ts";
import { sharedPostgres } from "../../../../support/shared-server.ts";
import { secretA } from "../../../../support/signed-delivery.ts";
import { describeWithPostgres } from "../../../../support/with-postgres.ts";

const good = ["one", "one-again", "two", "three", "four"];
const withBad = [...good, "bad"];
const program = fileURLToPath(new URL("stopped-batch-program.ts", import.meta.url));

interface Batch {
  readonly ids: readonly string[];
  /** How long each row of `effects` delays the commit. */
  readonly delaySeconds?: number;
}

async function withBatch(
  { ids, delaySeconds = 0 }: Batch,
  use: (pool: Pool, url: string) => Promise<void>,
): Promise<void> {
  await using database = await (await sharedPostgres()).database();
  const pool = database.pool();
  await pool.query(`CREATE TABLE effects (id text); CREATE TABLE delay AS SELECT ${delaySeconds}::float8 AS seconds;
    CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_sleep(seconds) FROM delay; RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON effects DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION wait()`);
  const inbox = storeOf(postgresInbox(pool));
  await inbox.open();
  for (const [second, id] of ids.entries()) {
    await inbox.insert(runningAt(id === "one-again" ? "one" : id, second, { id }));
  }
  await inbox.close();
  await use(pool, database.url);
  await pool.end();
}

const waiting = async (pool: Pool) => (await pool.query("SELECT FROM workspace_tasks.queue")).rowCount;

/** Each good event has its effect once, and the bad one alone is dead. */
async function expectEachOnce(pool: Pool, ids: readonly string[]): Promise<void> {
  await expect.poll(() => waiting(pool), { timeout: 60_000, interval: 100 }).toBe(0);
  const effects = await pool.query("SELECT id FROM effects ORDER BY id");
  expect(effects.rows.map(({ id }) => id)).toEqual(good.toSorted());
  // Of two events of a task the older one may be tried last: it is stale then, and a handler of all events has run.
  const { rows } = await pool.query(
    "SELECT webhook_id FROM workspace_tasks.deliveries WHERE outcome <> 'stale'",
  );
  expect(rows.map(({ webhook_id }) => webhook_id)).toEqual(ids.filter((id) => id === "bad"));
}

const start = async (url: string, step = "none") =>
  new RunningProgram([...(await bundledProgram(program)), url, step]);

/** Ends the server's process of a transaction that is waiting in its commit. */
async function terminateCommit(pool: Pool): Promise<void> {
  const terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
  await expect
    .poll(async () => (await pool.query(terminate)).rowCount, { timeout: 30_000, interval: 20 })
    .toBe(1);
  await pool.query("UPDATE delay SET seconds = 0");
}

describeWithPostgres("a batch whose process is killed", () => {
  const steps: Readonly<Record<string, Batch>> = {
    "before the first query": { ids: withBad },
    "before BEGIN is sent": { ids: withBad },
    "BEGIN is sent": { ids: withBad },
    "after BEGIN": { ids: withBad },
    "the statement is sent": { ids: withBad },
    "after the first query": { ids: withBad },
    "before the end is sent": { ids: good },
    "the end is sent": { ids: good },
    "the end was sent 200 ms ago": { ids: good, delaySeconds: 0.2 },
    "after the end": { ids: good },
  };
  it.each(
    atDepth(
      Object.entries(steps).filter((_, index) => index % 3 === 0),
      Object.entries(steps),
    ),
  )(
    "%s",
    (step, batch) =>
      withBatch(batch, async (pool, url) => {
        using killed = await start(url, step);
        expect((await killed.result()).signal).toBe("SIGKILL");
        using _next = await start(url);
        await expectEachOnce(pool, batch.ids);
      }),
    90_000,
  );
});

describeWithPostgres("a batch", () => {
  it(
    "whose transaction the server ends between the end of its rows and the commit",
    () =>
      withBatch({ ids: good, delaySeconds: 1 }, async (pool, url) => {
        using _receiver = await start(url);
        await terminateCommit(pool);
        await expectEachOnce(pool, good);
      }),
    90_000,
  );

  it(
    "that fails at its commit, because of a deferred constraint",
    () =>
      withBatch({ ids: withBad }, async (pool) => {
        await pool.query(`ALTER TABLE effects ADD CONSTRAINT once UNIQUE (id) DEFERRABLE INITIALLY DEFERRED;
        INSERT INTO effects VALUES ('bad')`);
        await using _receiver = await startReceiver(pool);
        await expect.poll(() => waiting(pool), { timeout: 60_000, interval: 100 }).toBe(0);
        await pool.query("DELETE FROM effects WHERE id = 'bad'");
        await expectEachOnce(pool, withBad);
      }),
    90_000,
  );

  it(
    "of which another worker takes an event meanwhile",
    () =>
      withBatch({ ids: good }, async (pool) => {
        let sizes: readonly number[] = [];
        const take = `UPDATE workspace_tasks.ordering_keys SET worker = 'another', generation = generation + 1,
        wake_at = (extract(epoch FROM clock_timestamp()) * 1000)::bigint + 500 WHERE order_key LIKE '%"two"%'`;
        await using _receiver = await startReceiver(pool, async (size) => {
          sizes = [...sizes, size];
          if (sizes.length === 1) await pool.query(take);
        });
        await expectEachOnce(pool, good);
        // All of them, then each alone: also the one that was taken, which is not kept, and once more when its lease has ended.
        expect(sizes[0]).toBe(good.length);
        expect(sizes.slice(1)).toEqual(good.map(() => 1).concat(1));
      }),
    90_000,
  );
});

/** @param onBatch called within each transaction, after its write */
async function startReceiver(pool: Pool, onBatch: (size: number) => Promise<void> = async () => {}) {
  const receiver = createReceiver({
    secrets: [secretA],
    inbox: postgresInbox(pool),
    logger: silentLogger,
    retry: { attemptsMax: 3, firstDelayMs: 10, delayMsMax: 10 },
  });
  receiver.onBatch("*", async (items, { transaction }) => {
    const ids = items.map(({ id }) => id);
    await transaction.query("INSERT INTO effects SELECT * FROM unnest($1::text[])", [ids]);
    await onBatch(items.length);
  });
  await receiver.start();
  return { [Symbol.asyncDispose]: () => receiver.close() };
}
