import { afterAll, beforeAll, expect, it } from "vitest";
import type { InboxClaim } from "workspace-tasks/receiver-kit";
import { seeded } from "../../../../support/latency.ts";
import type { PostgresDatabase } from "../../../../support/postgres.ts";
import { sharedPostgres } from "../../../../support/shared-server.ts";
import { createSharedTransactionFixture } from "../../../../support/shared-transaction-fixture.ts";
import { describeWithPostgres } from "../../../../support/with-postgres.ts";

let database: PostgresDatabase;

beforeAll(async () => {
  database = await (await sharedPostgres()).database();
});
afterAll(() => database[Symbol.asyncDispose]());

async function createFixture(events: number) {
  const tasks = Array.from({ length: events }, (_, index) => `task-${String(index).padStart(3, "0")}`);
  const fixture = await createSharedTransactionFixture(database, tasks);
  const { begin, write } = fixture;
  return {
    ...fixture,
    async handle(row: InboxClaim, name: string) {
      const transaction = begin(row);
      expect(await write(transaction.handle, name)).toBe(name);
      return transaction.commit();
    },
    kept: async () => (await fixture.effects()).names,
  };
}

describeWithPostgres("first statements of events that share a transaction on PostgreSQL", () => {
  it("are executed before the turns of their events, and each event receives its own result", async () => {
    await using at = await createFixture(3);
    const [a, b, c] = at.claims.map((claim) => at.begin(claim));
    const results = [at.write(a!.handle, "a"), at.write(b!.handle, "b"), at.write(c!.handle, "c")];
    expect(await results[0]).toBe("a");
    // The turn of `a` has not ended.
    expect(await at.executions()).toBe(3);
    const outcomes = [a!.commit()];
    expect(await results[1]).toBe("b");
    outcomes.push(b!.commit());
    expect(await results[2]).toBe("c");
    outcomes.push(c!.commit());
    expect(await Promise.all(outcomes)).toEqual(Array(3).fill("settled"));
    expect(await at.kept()).toEqual(["a", "b", "c"]);
    expect(await at.executions()).toBe(3);
  });

  it("are executed again after an earlier event executes a second statement, and from then on in their turns", async () => {
    await using at = await createFixture(3);
    const first = at.begin(at.claims[0]!);
    const outcomes = [
      (async () => {
        await at.write(first.handle, "a");
        // Would fail if the statement of the next event were still in effect.
        await at.write(first.handle, "b");
        return first.commit();
      })(),
      at.handle(at.claims[1]!, "c"),
      at.handle(at.claims[2]!, "d"),
    ];
    expect(await Promise.all(outcomes)).toEqual(Array(3).fill("settled"));
    expect(await at.kept()).toEqual(["a", "b", "c", "d"]);
    expect(await at.executions()).toBe(6);

    await at.insert(["later-1", "later-2"]);
    const [x, y] = await at.claim();
    const later = at.begin(x!);
    const writeTwice = async () => {
      await at.write(later.handle, "x");
      await at.write(later.handle, "x2");
      return later.commit();
    };
    expect(await Promise.all([writeTwice(), at.handle(y!, "y")])).toEqual(["settled", "settled"]);
    expect(await at.executions()).toBe(6 + 3);
  });

  it("are rolled back with that of an earlier event whose handler fails, and executed again", async () => {
    await using at = await createFixture(3);
    const failing = at.begin(at.claims[1]!);
    const outcomes = [
      at.handle(at.claims[0]!, "a"),
      at.write(failing.handle, "b").then(() => failing.rollback()),
      at.handle(at.claims[2]!, "c"),
    ];
    expect(await Promise.all(outcomes)).toEqual(["settled", undefined, "settled"]);
    expect(await at.kept()).toEqual(["a", "c"]);
    expect(await at.executions()).toBe(4);
    expect(await at.stateOf(at.claims[1]!)).toBe("running");
  });

  it("fail their own event only", async () => {
    await using at = await createFixture(3);
    const failing = at.begin(at.claims[1]!);
    const outcomes = [
      at.handle(at.claims[0]!, "a"),
      at.write(failing.handle, "a").catch(async (error) => {
        await failing.rollback();
        return error.code;
      }),
      at.handle(at.claims[2]!, "c"),
    ];
    expect(await Promise.all(outcomes)).toEqual(["settled", "23505", "settled"]);
    expect(await at.kept()).toEqual(["a", "c"]);
  });

  it("fail their own event only when a value cannot be sent", async () => {
    await using at = await createFixture(3);
    const circular: Record<string, unknown> = {};
    circular["itself"] = circular;
    const query = (values: unknown) => {
      const failing = at.begin(at.claims[1]!);
      const statement = `INSERT INTO ${at.schema}.effects VALUES ($1)`;
      return failing.handle.query(statement, values as unknown[]).catch(async (error) => {
        await failing.rollback();
        return String(error);
      });
    };
    const outcomes = [at.handle(at.claims[0]!, "a"), query([circular]), at.handle(at.claims[2]!, "c")];
    expect(await Promise.all(outcomes)).toEqual(["settled", expect.stringContaining("circular"), "settled"]);
    expect(await query("b")).toContain("values: expected an array, got string");
    expect(await at.kept()).toEqual(["a", "c"]);
  });

  it("have no effect when their event ended before its turn", async () => {
    await using at = await createFixture(3);
    const [a, b, c] = at.claims.map((claim) => at.begin(claim));
    const written = at.write(a!.handle, "a");
    const hidden = at.write(b!.handle, "b");
    const last = at.write(c!.handle, "c");
    await written;
    expect(await at.executions()).toBe(3);
    // As after its time limit.
    await b!.rollback();
    await expect(hidden).rejects.toMatchObject({ code: "TRANSACTION_ENDED" });
    const settled = a!.commit();
    await last;
    expect(await Promise.all([settled, c!.commit()])).toEqual(["settled", "settled"]);
    expect(await at.kept()).toEqual(["a", "c"]);
  });

  it("keep the effects of the events that are settled and no others, whatever their handlers do", async () => {
    await using at = await createFixture(150);
    const random = seeded(7);
    const expected: string[] = [];
    const outcomes: Record<string, number> = {};
    const count = (outcome: string) => {
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    };
    const handle = async (claim: InboxClaim, index: number) => {
      const transaction = at.begin(claim);
      const written: string[] = [];
      const draw = random();
      try {
        const statements = draw < 0.7 ? 1 : 2 + Math.floor(random() * 2);
        for (let n = 0; n < statements; n++) {
          const name = `${index}-${n}`;
          expect(await at.write(transaction.handle, name)).toBe(name);
          written.push(name);
          if (random() < 0.2) await new Promise((resolve) => setTimeout(resolve, random() * 3));
        }
        if (random() < 0.1) await transaction.handle.query("SELECT 1 / 0");
        if (random() < 0.1) throw new Error("the handler failed");
      } catch {
        count((await transaction.rollback()) ?? "failed");
        return;
      }
      const outcome = await transaction.commit();
      count(outcome);
      if (outcome === "settled") expected.push(...written);
    };
    const rows = at.claims.map((claim, index) => [claim, index] as const);
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        for (let next = rows.shift(); next; next = rows.shift()) await handle(...next);
      }),
    );
    expect(await at.kept()).toEqual(expected.sort());
    expect(outcomes["settled"]).toBeGreaterThan(80);
    expect(outcomes["failed"]).toBeGreaterThan(8);
  });
});
