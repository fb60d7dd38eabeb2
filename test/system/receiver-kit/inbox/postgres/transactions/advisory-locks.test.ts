// An advisory lock of the transaction that a function takes: nothing in the text of a statement says so, and every later
// event of a shared transaction would have it too.

import { afterAll, beforeAll, expect, it, vi } from "vitest";
import type { InboxClaim } from "../../../../../../receiver-kit/inbox/inbox.ts";
import type { PostgresDatabase } from "../../../../../support/postgres.ts";
import { sharedPostgres } from "../../../../../support/shared-server.ts";
import { createSharedTransactionFixture } from "../../../../../support/shared-transaction-fixture.ts";
import { describeWithPostgres } from "../../../../../support/with-postgres.ts";

let database: PostgresDatabase;

beforeAll(async () => {
  database = await (await sharedPostgres()).database();
  await database.pool().query(`
    CREATE FUNCTION take_lock() RETURNS void LANGUAGE sql AS $$ SELECT pg_advisory_xact_lock(7) $$;
    CREATE FUNCTION held_locks() RETURNS integer LANGUAGE sql AS $$ SELECT count(*)::integer FROM pg_locks
      WHERE locktype = 'advisory' AND pid = pg_backend_pid() $$`);
});
afterAll(() => database[Symbol.asyncDispose]());

interface Run {
  readonly id: string;
  readonly takes: boolean;
  readonly isAlone: boolean;
  readonly held: number;
  readonly xact: string;
}

const eventCount = 24;
const namesOf = (batch: string) =>
  Array.from({ length: eventCount }, (_, index) => `${batch}-${String(index).padStart(2, "0")}`);

async function createFixture() {
  const fixture = await createSharedTransactionFixture(database, namesOf("first"), { turnMs: 20_000 });
  const { begin, write, claims, insert, claim: claimAll } = fixture;
  const handle = async (claim: InboxClaim, takes: boolean, runs: Run[], isAlone = false): Promise<void> => {
    const transaction = begin(claim, isAlone);
    let outcome: string | undefined;
    try {
      if (takes) await transaction.handle.query("SELECT take_lock()");
      const look = "SELECT held_locks() AS held, pg_current_xact_id()::text AS xact";
      const [row] = await transaction.handle.query(look);
      runs.push({ id: claim.id, takes, isAlone, held: Number(row?.["held"]), xact: String(row?.["xact"]) });
      await write(transaction.handle, claim.id);
      outcome = await transaction.commit();
    } catch {
      outcome = await transaction.rollback();
    }
    if (outcome === "repeat") return handle(claim, takes, runs, true);
    expect(outcome).toBe("settled");
  };
  return {
    ...{ ...fixture, claims },
    /** All handlers at once, of which one takes the lock; all but the first, which waits, in one transaction. */
    async handleTogether(rows: readonly InboxClaim[]) {
      const runs: Run[] = [];
      const [first, ...others] = rows as [InboxClaim, ...InboxClaim[]];
      const holding = begin(first);
      const held = holding.handle.query("SELECT 1");
      const handled = others.map((claim, index) => handle(claim, index === 4, runs));
      await held;
      await Promise.all(handled);
      expect(await holding.commit()).toBe("settled");
      return {
        runs,
        kept: runs.filter(({ id }, index) => !runs.slice(index + 1).some((run) => run.id === id)),
      };
    },
    async claimMore(batch: string) {
      await insert(namesOf(batch));
      return claimAll();
    },
  };
}

const sawALock = ({ takes, held }: Run) => !takes && held > 0;

describeWithPostgres("an advisory lock that a function takes", () => {
  it("is shown to its handler only: the shared transaction is not committed, and each event runs alone", async () => {
    const startMs = performance.now();
    using _time = vi.spyOn(performance, "now").mockImplementation(() => startMs);
    await using at = await createFixture();
    const { runs, kept } = await at.handleTogether(at.claims);
    expect(kept.map(({ takes, held }) => [takes, held])).toEqual(
      expect.arrayContaining([...Array(eventCount - 2).fill([false, 0]), [true, 1]]),
    );
    expect(kept.filter(sawALock)).toEqual([]);
    expect(new Set(kept.map(({ xact }) => xact)).size).toBe(eventCount - 1);
    // The control: handlers saw it in what was rolled back.
    expect(runs.filter(sawALock).length).toBeGreaterThan(10);
    expect((await at.effects()).names).toHaveLength(eventCount - 1);
  });

  it("makes each turn end with a search for a minute, so that only its own event leaves a shared transaction", async () => {
    let nowMs = performance.now();
    using _time = vi.spyOn(performance, "now").mockImplementation(() => nowMs);
    await using at = await createFixture();
    await at.handleTogether(at.claims);

    nowMs += 59_000;
    const second = await at.handleTogether(await at.claimMore("second"));
    expect(second.runs.filter(sawALock)).toEqual([]);
    // The event behind it had been sent already.
    expect(second.kept.filter(({ isAlone }) => isAlone)).toHaveLength(2);
    expect(second.kept.filter(({ isAlone, takes }) => isAlone && takes)).toHaveLength(1);
    const shared = second.kept.filter(({ isAlone }) => !isAlone);
    expect(new Set(shared.map(({ xact }) => xact)).size).toBe(1);

    nowMs += 2_000;
    const third = await at.handleTogether(await at.claimMore("third"));
    expect(third.kept.every(({ isAlone }) => isAlone)).toBe(true);
    expect(third.kept.filter(sawALock)).toEqual([]);
  });

  it("is not the reason of a failure of another event, which runs again alone", async () => {
    await using at = await createFixture();
    const startMs = performance.now();
    using _time = vi.spyOn(performance, "now").mockImplementation(() => startMs);
    const [holding, taking, failing] = at.claims.map((claim) => at.begin(claim));
    await holding!.handle.query("SELECT 1");
    await taking!.handle.query("SELECT take_lock()");
    const look = failing!.handle.query("SELECT 1 / (1 - held_locks())");
    const settled = taking!.commit();
    await expect(look).rejects.toMatchObject({ code: "22012" });
    expect(await failing!.rollback()).toBe("repeat");
    expect(await settled).toBe("repeat");
    expect(await holding!.commit()).toBe("settled");
    const alone = at.begin(at.claims[2]!, true);
    await alone.handle.query("SELECT 1 / (1 - held_locks())");
    expect(await alone.commit()).toBe("settled");
  });
});
