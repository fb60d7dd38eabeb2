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
