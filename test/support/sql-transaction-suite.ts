import { describe, expect, it } from "vitest";
import type { HandlerTransaction } from "../../receiver-kit/inbox/inbox.ts";
import type { InboxFixture } from "./inbox-contract/inbox-fixture.ts";
import { claimOptions, doneWith, runningAt } from "./inbox-rows.ts";

export interface SqlTransaction {
  query(statement: string): Promise<unknown>;
}

/** A claimed row, and its transaction. */
export async function beginTransaction({ inbox }: InboxFixture, taskId = "task-1") {
  const newRow = runningAt(taskId, 1);
  await inbox.insert(newRow);
  const [claim] = (await inbox.claim(claimOptions())).claims;
  const limits = { timeoutMs: 60_000 };
  const transaction = inbox.begin(
    [{ claim: claim!, settlement: doneWith(claim!) }],
    limits,
  ) as HandlerTransaction<SqlTransaction>;
  return { newRow, claim: claim!, transaction };
}

type Begun = Awaited<ReturnType<typeof beginTransaction>>;

/** Nothing of the attempt took effect, and the row can be handled again. */
export async function expectUndone(fixture: InboxFixture, { newRow, claim, transaction }: Begun) {
  await expect(transaction.commit()).rejects.toMatchObject({ code: "TRANSACTION_ENDED_BY_SQL" });
  await transaction.rollback();
  const { inbox, effects } = fixture;
  expect(await effects.kept()).toEqual([]);
  expect(await inbox.get(newRow)).toMatchObject({ state: "running" });
  expect(await inbox.head("default", newRow.orderKey!)).toBeUndefined();
  expect(await inbox.fail(claim, { kind: "retry", delayMs: 0, error: "ended", counts: true })).toBe(true);
  const again = (await inbox.claim(claimOptions({ worker: "worker-2" }))).claims[0]!;
  const next = inbox.begin([{ claim: again, settlement: doneWith(again) }], { timeoutMs: 60_000 });
  await effects.write(next.handle, "again");
  expect(await next.commit()).toBe("settled");
  expect(await effects.kept()).toEqual(["again"]);
}

const endings = [
  "COMMIT",
  "commit work",
  "END",
  "ROLLBACK",
  "Rollback Transaction",
  "BEGIN",
  "BEGIN IMMEDIATE",
];
const disguised = ["; ROLLBACK", "  -- a comment\n COMMIT", "/* a */ /* b */COMMIT;"];

/** What SQL databases promise of a handler's transaction. */
export function describeSqlTransactions(name: string, create: () => Promise<InboxFixture>): void {
  describe(`${name}: SQL that ends a handler's transaction`, () => {
    it.each([...endings, ...disguised])(
      "%j is not executed, and the attempt fails although the handler catches the error",
      async (statement) => {
        await using fixture = await create();
        const begun = await beginTransaction(fixture);
        const { handle } = begun.transaction;
        await fixture.effects.write(handle, "before");
        await expect(handle.query(statement)).rejects.toMatchObject({
          code: "TRANSACTION_ENDED_BY_SQL",
          message: expect.stringContaining("was not executed"),
        });
        await fixture.effects.write(handle, "after");
        await expectUndone(fixture, begun);
      },
    );

    it("is rejected before the transaction begins, and the attempt fails too", async () => {
      await using fixture = await create();
      const begun = await beginTransaction(fixture);
      await expect(begun.transaction.handle.query("COMMIT")).rejects.toThrow("COMMIT was not executed");
      await expectUndone(fixture, begun);
    });

    it.each([
      "SAVEPOINT workspace_tasks_event",
      "RELEASE workspace_tasks_turn",
      "ROLLBACK TO workspace_tasks_turn",
    ])("%j, of a savepoint of the inbox, is not executed", async (statement) => {
      await using fixture = await create();
      const { transaction } = await beginTransaction(fixture);
      await fixture.effects.write(transaction.handle, "undone");
      await expect(transaction.handle.query(statement)).rejects.toMatchObject({ code: "ARGUMENT_INVALID" });
      await transaction.rollback();
      expect(await fixture.effects.kept()).toEqual([]);
    });

    it("may not follow another statement in one text, which is not executed", async () => {
      await using fixture = await create();
      const { transaction } = await beginTransaction(fixture);
      await expect(transaction.handle.query("SELECT 1; SELECT 2")).rejects.toThrow(/statement/);
      await transaction.rollback();
    });

    it("may be a savepoint's: ROLLBACK TO undoes a part, and the rest is committed", async () => {
      await using fixture = await create();
      const { transaction } = await beginTransaction(fixture);
      const { handle } = transaction;
      await fixture.effects.write(handle, "kept");
      await handle.query("SAVEPOINT part");
      await fixture.effects.write(handle, "undone");
      await handle.query("ROLLBACK TO SAVEPOINT part");
      await handle.query("RELEASE SAVEPOINT part");
      await fixture.effects.write(handle, "kept too");
      expect(await transaction.commit()).toBe("settled");
      expect(await fixture.effects.kept()).toEqual(["kept", "kept too"]);
    });
  });
}

type Run = (statement: string) => unknown;

/** Transactions that an ORM begins on what a handler has of the driver, where `driverOf` runs statements. */
export function describeNestedTransactions(
  name: string,
  create: () => Promise<InboxFixture>,
  driverOf: (handle: unknown) => Promise<Run>,
): void {
  describe(`${name}: a transaction within that of the event`, () => {
    const begin = async () => {
      const fixture = await create();
      const begun = await beginTransaction(fixture);
      const { handle } = begun.transaction;
      const run = await driverOf(handle);
      return {
        begun,
        fixture,
        write: (text: string) => fixture.effects.write(handle, text),
        run: async (statement: string) => run(statement),
        [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
      };
    };
    const commits = async (
      { begun, fixture }: Awaited<ReturnType<typeof begin>>,
      kept: readonly string[],
    ) => {
      expect(await begun.transaction.commit()).toBe("settled");
      expect(await fixture.effects.kept()).toEqual(kept);
    };

    it.each([
      ["BEGIN", "COMMIT"],
      ["begin;", "commit;"],
      ["BEGIN TRANSACTION", "END TRANSACTION"],
      ["/* a */ BEGIN -- b", "COMMIT /*traceparent='00-1'*/;"],
    ])("%j to %j is kept with the event, and the next one too", async (first, last) => {
      await using at = await begin();
      for (const text of ["a", "b"]) {
        await at.run(first);
        await at.write(text);
        await at.run(last);
      }
      await commits(at, ["a", "b"]);
    });

    it("is undone with the event", async () => {
      await using at = await begin();
      await at.run("BEGIN");
      await at.write("undone");
      await at.run("COMMIT");
      await at.begun.transaction.rollback();
      expect(await at.fixture.effects.kept()).toEqual([]);
    });

    it.each(["ROLLBACK", "rollback transaction;"])("%j undoes it alone", async (rollback) => {
      await using at = await begin();
      await at.write("before");
      for (const text of ["undone", "undone too"]) {
        await at.run("BEGIN");
        await at.write(text);
        await at.run(rollback);
      }
      await at.write("after");
      await commits(at, ["before", "after"]);
    });

    it("may fail: its error can be caught once it is rolled back", async () => {
      await using at = await begin();
      await at.write("before");
      await at.run("BEGIN");
      await at.write("undone");
      await expect(at.run("SELECT * FROM missing")).rejects.toThrow("missing");
      await at.run("ROLLBACK");
      await commits(at, ["before"]);
    });

    it("has savepoints of its own", async () => {
      await using at = await begin();
      await at.run("BEGIN");
      await at.write("outer");
      await at.run("SAVEPOINT part");
      await at.write("undone");
      await at.run("ROLLBACK TO SAVEPOINT part");
      await at.run("RELEASE SAVEPOINT part");
      await at.run("COMMIT");
      await commits(at, ["outer"]);
    });

    it.each([
      ["a second one at the same time", ["BEGIN", "BEGIN"], "BEGIN was not executed: another transaction"],
      ["COMMIT without one", ["COMMIT"], "COMMIT was not executed"],
      ["ROLLBACK after one", ["BEGIN", "COMMIT", "ROLLBACK"], "ROLLBACK was not executed"],
      ["a stricter one", ["BEGIN ISOLATION LEVEL SERIALIZABLE"], "BEGIN was not executed"],
      ["one with other statements in one text", ["BEGIN; SELECT 1; COMMIT"], "BEGIN was not executed"],
    ])(
      "is rejected, and the attempt fails although the handler catches it: %s",
      async (_, texts, message) => {
        await using at = await begin();
        for (const text of texts.slice(0, -1)) await at.run(text);
        await at.write("undone");
        await expect(at.run(texts.at(-1) ?? "")).rejects.toMatchObject({
          code: "TRANSACTION_ENDED_BY_SQL",
          message: expect.stringContaining(message),
        });
        await expectUndone(at.fixture, at.begun);
      },
    );

    it("that is still open when the handler has ended commits nothing", async () => {
      await using at = await begin();
      await at.run("BEGIN");
      await at.write("undone");
      await expect(at.begun.transaction.commit()).rejects.toMatchObject({ code: "QUERY_NOT_AWAITED" });
      await at.begun.transaction.rollback();
      expect(await at.fixture.effects.kept()).toEqual([]);
    });

    it("cannot be begun, nor anything else be executed, after the event", async () => {
      await using at = await begin();
      await at.run("SELECT 1");
      await commits(at, []);
      for (const text of ["BEGIN", "SELECT 1"])
        await expect(at.run(text)).rejects.toMatchObject({ code: "TRANSACTION_ENDED" });
    });
  });
}
