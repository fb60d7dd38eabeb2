import { setTimeout as pause } from "node:timers/promises";
import type { Pool, PoolClient } from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { WebhookEvent } from "workspace-tasks/events";
import {
  type ApplyInOrderOptions,
  applyInOrder,
  createAppliedHeads,
  purgeAppliedHeads,
} from "workspace-tasks/receiver-kit/postgres";
import { createRandom, type Random } from "../../../../simulation/random.ts";
import { instant } from "../../../../support/inbox-rows.ts";
import { packageFlags } from "../../../../support/package-flags.ts";
import type { PostgresDatabase } from "../../../../support/postgres.ts";
import { RunningProgram } from "../../../../support/running-program.ts";
import { sampleEvent, stageEvent } from "../../../../support/sample-event.ts";
import { sharedPostgres } from "../../../../support/shared-server.ts";
import { describeWithPostgres } from "../../../../support/with-postgres.ts";

let database: PostgresDatabase;
let pool: Pool;

beforeAll(async () => {
  database = await (await sharedPostgres()).database({ deadlock_timeout: "10ms" });
  pool = database.pool({ max: 20 });
  await pool.query("CREATE TABLE effects (seq serial, task text, second integer, id text)");
  await createAppliedHeads(pool);
});
afterAll(() => database[Symbol.asyncDispose]());

const at = (taskId: string, second: number, fields: object = {}) =>
  sampleEvent({ taskId, occurredAt: instant(second), ...fields }) as unknown as WebhookEvent;

/** Runs `work` on a client of its own, which is closed afterwards if it still is in a transaction. */
async function onClient<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> {
  const client = await pool.connect();
  try {
    return await work(client);
  } finally {
    await client.query("ROLLBACK");
    client.release();
  }
}

const apply = (event: WebhookEvent, options?: ApplyInOrderOptions) =>
  onClient(async (client) => {
    await client.query("BEGIN");
    const { outcome } = await applyInOrder(client, event, async () => {}, options);
    await client.query("COMMIT");
    return outcome;
  });

/** Applies three events and stays in the work of the first, before the commit of the second, after that of the third. */
const killedConsumer = `
  import pg from "pg";
  import { applyInOrder } from "workspace-tasks/receiver-kit/postgres";
  const [, connectionString, events] = process.argv;
  const { inWork, beforeCommit, committed } = JSON.parse(events);
  const begin = async (event, afterWrite) => {
    const client = new pg.Client({ connectionString });
    await client.connect();
    await client.query("BEGIN");
    await applyInOrder(client, event, async () => {
      await client.query("INSERT INTO effects (task, id) VALUES ($1, 'killed')", [event.taskId]);
      await afterWrite?.();
    });
    return client;
  };
  process.stdin.once("end", () => process.exit(1)).resume();
  await begin(beforeCommit);
  await (await begin(committed)).query("COMMIT");
  await begin(inWork, () => new Promise(() => console.log("all three")));
`;

describeWithPostgres("applyInOrder", () => {
  it("keeps nothing of a process that is killed in its transaction, and all that was committed", async () => {
    const [inWork, beforeCommit, committed] = ["in-work", "before-commit", "committed"].map((task) =>
      at(task, 1),
    ) as [WebhookEvent, WebhookEvent, WebhookEvent];
    using consumer = new RunningProgram([
      ...[...packageFlags, "--input-type=module", "--eval"],
      ...[killedConsumer, database.url, JSON.stringify({ inWork, beforeCommit, committed })],
    ]);
    await consumer.said(/^all three$/m);
    consumer.signal("SIGKILL");
    await consumer.ended();
    // The server notices the end of the connections; until then their rows are locked.
    const outcomes = await Promise.all([inWork, beforeCommit, committed].map((event) => apply(event)));
    expect(outcomes).toEqual(["applied", "applied", "duplicate"]);
    const { rows } = await pool.query("SELECT task FROM effects WHERE id = 'killed'");
    expect(rows).toEqual([{ task: "committed" }]);
    expect(await apply(at("committed", 0))).toBe("stale");
  });

  it("applies an event once, and none that is older than what was applied to its task or stage", async () => {
    const [older, newer] = [at("order", 1), at("order", 2)];
    const stage = stageEvent({ taskId: "order", occurredAt: instant(1) }) as unknown as WebhookEvent;
    expect(await apply(newer)).toBe("applied");
    expect(await apply(newer)).toBe("duplicate");
    expect(await apply(older)).toBe("stale");
    expect(await apply(stage)).toBe("applied");
    expect(await apply(at("order", 3))).toBe("applied");
    expect(await apply(newer)).toBe("stale");
    expect(await apply(older, { source: "other" })).toBe("applied");
  });

  it("applies events without an order once per id, whatever the length of the id", async () => {
    const synced = (id: string) =>
      ({ ...sampleEvent(), event: "documents.synced", id }) as unknown as WebhookEvent;
    for (const id of ["a", "b", "x".repeat(600), `${"x".repeat(599)}y`]) {
      expect(await apply(synced(id))).toBe("applied");
      expect(await apply(synced(id))).toBe("duplicate");
    }
  });

  it("returns what the work returns, which writes through the client", async () => {
    const result = await onClient(async (client) => {
      await client.query("BEGIN");
      return applyInOrder(client, at("result", 1), async (same) => same === client);
    });
    expect(result).toEqual({ outcome: "applied", result: true });
    expect(await apply(at("result", 1)), "nothing was committed").toBe("applied");
  });

  it("keeps nothing of work that throws, although the caller commits, and lets the transaction continue", async () => {
    await onClient(async (client) => {
      await client.query("BEGIN");
      const failing = applyInOrder(client, at("fails", 1), async () => {
        await client.query("INSERT INTO effects (task) VALUES ('fails')");
        await client.query("SELECT 1 / 0");
      });
      await expect(failing).rejects.toMatchObject({ code: "22012" });
      const swallowed = applyInOrder(client, at("fails", 1), () =>
        client.query("SELECT 1 / 0").catch(() => {}),
      );
      await expect(swallowed).rejects.toMatchObject({ code: "25P02" });
      expect(await applyInOrder(client, at("continues", 1), async () => 1)).toMatchObject({
        outcome: "applied",
      });
      await client.query("COMMIT");
    });
    expect((await pool.query("SELECT * FROM effects WHERE task = 'fails'")).rows).toEqual([]);
    expect(await apply(at("fails", 1))).toBe("applied");
    expect(await apply(at("continues", 0))).toBe("stale");
  });

  it.each([
    ["a pool", (event: WebhookEvent) => applyInOrder(pool, event, async () => {}), "in a transaction"],
    [
      "a client without a transaction",
      (event: WebhookEvent) => onClient((client) => applyInOrder(client, event, async () => {})),
      "in a transaction, after BEGIN",
    ],
    [
      "an event of the far future",
      () => apply(at("future", 0, { occurredAt: new Date(Date.now() + 700_000).toISOString() })),
      "at most 10 minutes in the future",
    ],
    [
      "an event with neither an order nor an id",
      () => apply({ event: "documents.synced" } as unknown as WebhookEvent),
      "an event with an id",
    ],
    [
      "a second call in progress on a client",
      (event: WebhookEvent) =>
        onClient(async (client) => {
          await client.query("BEGIN");
          const nested = () => applyInOrder(client, event, async () => {});
          return applyInOrder(client, at("outer", 1), nested);
        }),
      "one call at a time",
    ],
  ])("rejects %s", async (_, call, message) => {
    await expect(call(at("rejected", 1))).rejects.toMatchObject({
      code: "ARGUMENT_INVALID",
      message: expect.stringContaining(message),
    });
  });

  it("rejects unknown options with the nearest known name", async () => {
    await expect(apply(at("options", 1), { shema: "x" } as never)).rejects.toThrow("did you mean schema?");
    await expect(createAppliedHeads(pool, { schema: "a; DROP" })).rejects.toThrow("lower case letters");
  });

  it.each([
    ["READ COMMITTED", "stale"],
    ["REPEATABLE READ", "TRANSACTION_CONFLICT"],
    ["SERIALIZABLE", "TRANSACTION_CONFLICT"],
  ])("makes a call under %s wait for the transaction that has the task: %s", async (level, expected) => {
    const task = `waits ${level}`;
    await apply(at(task, 1));
    await onClient((first) =>
      onClient(async (second) => {
        await first.query("BEGIN");
        await second.query(`BEGIN ISOLATION LEVEL ${level}`);
        await second.query("SELECT 1");
        await applyInOrder(first, at(task, 3), async () => {});
        const waiting = applyInOrder(second, at(task, 2), async () => {}).then(
          ({ outcome }) => outcome,
          (error: { code: string }) => error.code,
        );
        expect(await Promise.race([waiting, pause(50, "waits")])).toBe("waits");
        await first.query("COMMIT");
        expect(await waiting).toBe(expected);
      }),
    );
  });

  it("reports a deadlock as a conflict, and one of both transactions succeeds", async () => {
    const outcomes = await onClient((first) =>
      onClient(async (second) => {
        const steps = [
          [first, "dead-a"],
          [second, "dead-b"],
        ] as const;
        for (const [client, task] of steps) {
          await client.query("BEGIN");
          await applyInOrder(client, at(task, 1), async () => {});
        }
        const crossed = steps.map(async ([client], index) => {
          const task = steps[1 - index]?.[1] ?? "";
          try {
            await applyInOrder(client, at(task, 2), async () => {});
            await client.query("COMMIT");
            return "applied";
          } catch (error) {
            await client.query("ROLLBACK");
            return (error as { code: string }).code;
          }
        });
        return Promise.all(crossed);
      }),
    );
    expect(outcomes.toSorted()).toEqual(["TRANSACTION_CONFLICT", "applied"]);
  });

  it("creates its table once for processes that start together, in a schema with the name of a reserved word too", async () => {
    const schema = "user";
    await Promise.all(Array.from({ length: 8 }, () => createAppliedHeads(pool, { schema })));
    expect(await apply(at("elsewhere", 1), { schema })).toBe("applied");
  });

  it("deletes ids and heads after their retention, at most rowsMax at a time", async () => {
    const schema = "applied_retention";
    await createAppliedHeads(pool, { schema });
    for (const task of ["a", "b", "c"]) await apply(at(task, 1), { schema });
    await apply({ ...at("x", 1), event: "documents.synced" } as WebhookEvent, { schema });
    const aged = (days: number) =>
      pool.query(`UPDATE ${schema}.applied_heads SET applied_at = applied_at - ${days} * 86400000::bigint`);
    expect(await purgeAppliedHeads(pool, { schema })).toBe(0);
    await aged(15);
    expect(await purgeAppliedHeads(pool, { schema })).toBe(1);
    await aged(351);
    expect(await purgeAppliedHeads(pool, { schema, rowsMax: 2 })).toBe(2);
    expect(await purgeAppliedHeads(pool, { schema, rowsMax: 2 })).toBe(1);
  });
});

interface Message {
  readonly task: string;
  readonly second: number;
  readonly event: WebhookEvent;
}

/** The messages of a queue, each of them several times, in any order. */
function messagesOf(random: Random, prefix: string): Message[] {
  const events = Array.from({ length: 40 }, (_, n) => {
    const [task, second] = [`${prefix}-${n % 4}`, random.integer(1, 1_000)];
    return { task, second, event: at(task, second, { id: `${prefix}_${n}` }) };
  });
  const repeated = events.flatMap((message) => Array.from({ length: random.integer(1, 3) }, () => message));
  return repeated
    .map((message) => ({ message, place: random.number() }))
    .sort((a, b) => a.place - b.place)
    .map(({ message }) => message);
}

/** Ends the connection of the client at one of its next statements, as the end of its process does. */
function killLater(client: PoolClient, statements: number): void {
  const query = client.query.bind(client) as (...values: unknown[]) => Promise<unknown>;
  let left = statements;
  Object.assign(client, {
    query(...values: unknown[]) {
      left -= 1;
      const result = query(...values);
      const { connection } = client as unknown as { connection: { stream: { destroy(): void } } };
      // The statement may still reach the server.
      if (left === 0) setImmediate(() => connection.stream.destroy());
      return result;
    },
  });
}

/** Applies some messages in one transaction. Throws when that was not committed, or when nothing is known of it. */
async function consume(random: Random, messages: readonly Message[]): Promise<void> {
  const client = await pool.connect();
  client.on("error", () => {});
  if (random.happens(0.15)) killLater(client, random.integer(1, 8));
  const level = random.pick(["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]);
  try {
    await client.query(`BEGIN ISOLATION LEVEL ${level}`);
    for (const { task, second, event } of messages) {
      const fails = random.happens(0.1);
      await applyInOrder(client, event, async () => {
        const values = [task, second, String(event["id"])];
        await client.query("INSERT INTO effects (task, second, id) VALUES ($1, $2, $3)", values);
        if (fails) throw new Error("injected");
      });
    }
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  } finally {
    client.release(true);
  }
}

describeWithPostgres("consumers of a queue with applyInOrder", () => {
  it.each([1, 2, 3])(
    "apply the events of a task once and in order, whatever is repeated, reordered, fails or is killed (seed %i)",
    async (seed) => {
      const random = createRandom(seed);
      const prefix = `queue${seed}`;
      const queue = messagesOf(random, prefix);
      const newest = new Map<string, number>();
      for (const { task, second } of queue) newest.set(task, Math.max(second, newest.get(task) ?? 0));
      const failed: string[] = [];
      const consumer = async (own: Random) => {
        while (queue.length > 0) {
          const taken = queue.splice(0, own.integer(1, 3));
          await consume(own, taken).catch((error: Error) => {
            failed.push(error.message);
            // Not acknowledged, so it is delivered again, after others.
            queue.push(...taken);
          });
        }
      };
      await Promise.all(Array.from({ length: 6 }, (_, n) => consumer(random.stream(`consumer ${n}`))));
      const { rows } = await pool.query(
        "SELECT task, second, id FROM effects WHERE task LIKE $1 ORDER BY seq",
        [`${prefix}-%`],
      );
      const ids = rows.map(({ id }) => String(id));
      expect(new Set(ids).size, "effects twice").toBe(ids.length);
      for (const [task, second] of newest) {
        const seconds = rows.filter((row) => row.task === task).map((row) => Number(row.second));
        expect(seconds, "order").toEqual(seconds.toSorted((a, b) => a - b));
        expect(seconds.at(-1), "the newest event").toBe(second);
      }
      expect(failed.length, "failures were injected").toBeGreaterThan(3);
    },
  );
});
