import type { Claim, HandlerTransaction, Settlement, SettleOutcome } from "../inbox.ts";
import { createLazyTransaction, leaseLost, superseded } from "../lazy-transaction.ts";
import type { SqliteRow, SqliteValue } from "./sqlite-driver.ts";
import { advanceHead, isHeld } from "./sqlite-operations.ts";
import { settleRow } from "./sqlite-statements.ts";
import type { ExclusiveTransaction } from "./sqlite-writer.ts";

/** What handlers see as `context.transaction` with the SQLite inbox. */
export interface SqliteTransaction {
  /**
   * Runs one statement in the transaction in which the event counts as handled: its effects are kept if and only if the
   * event is. Values are text, numbers, bigints, bytes or null. The first query takes the file's only write lock, so
   * call other services before it.
   */
  query(statement: string, values?: readonly SqliteValue[]): Promise<readonly SqliteRow[]>;
  /** The driver's own connection, inside the same transaction; use it before the next `await` on anything else. */
  connection(): Promise<unknown>;
}

interface Dependencies {
  readonly claim: Claim;
  readonly settlement: Settlement;
  readonly beginExclusive: () => Promise<ExclusiveTransaction>;
  readonly settleInGroup: () => Promise<SettleOutcome>;
  readonly now: () => number;
}

export function beginSqliteTransaction(dependencies: Dependencies): HandlerTransaction<SqliteTransaction> {
  const { claim, settlement, settleInGroup } = dependencies;
  const { opened, commit, rollback } = createLazyTransaction<ExclusiveTransaction>({
    open: () => open(dependencies),
    async commit(transaction) {
      transaction.connection().changePrepared(settleRow, [claim.seq, settlement.state]);
      transaction.end("COMMIT");
    },
    rollBack: async (transaction) => transaction.end("ROLLBACK"),
    settleInGroup,
  });
  const connection = async () => (await opened()).connection();
  return {
    handle: {
      query: async (statement, values) => (await connection()).query(statement, values),
      connection: async () => (await connection()).native,
    },
    commit,
    rollback,
  };
}

async function open({ beginExclusive, claim, settlement, now }: Dependencies): Promise<ExclusiveTransaction> {
  const transaction = await beginExclusive();
  try {
    const connection = transaction.connection();
    const { advance } = settlement;
    if (!isHeld(connection, claim)) throw leaseLost();
    if (advance && !advanceHead(connection, claim.source, advance, now())) throw superseded();
    return transaction;
  } catch (error) {
    transaction.end("ROLLBACK");
    throw error;
  }
}
