import type { Claim, HandlerTransaction, Settlement, SettleOutcome } from "../inbox.ts";
import { createLazyTransaction, leaseLost, superseded } from "../lazy-transaction.ts";
import { controlKeyword, controlRejected, endedBySql } from "../transaction-control.ts";
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
   *
   * @throws {ReceiverError} `TRANSACTION_ENDED_BY_SQL` for BEGIN, COMMIT and ROLLBACK, which are not executed, and after
   * a statement that ended the transaction, such as INSERT OR ROLLBACK; the attempt then fails. SAVEPOINT is allowed.
   */
  query(statement: string, values?: readonly SqliteValue[]): Promise<readonly SqliteRow[]>;
  /**
   * The driver's own connection, inside the same transaction, which it must not end. Use it before the next `await` on
   * anything else.
   */
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
  let hasMarker = false;
  const { opened, fail, commit, rollback } = createLazyTransaction<ExclusiveTransaction>({
    open: () => open(dependencies),
    async commit(transaction) {
      if (hasMarker) releaseMarker(transaction);
      transaction.connection().changePrepared(settleRow, [claim.seq, settlement.state]);
      transaction.end("COMMIT");
    },
    rollBack: async (transaction) => transaction.end("ROLLBACK"),
    settleInGroup,
  });
  const connection = async () => (await opened()).connection();
  return {
    handle: {
      async query(statement, values) {
        const keyword = controlKeyword(statement);
        return keyword ? fail(controlRejected(keyword)) : (await connection()).query(statement, values);
      },
      async connection() {
        const inside = await connection();
        if (!hasMarker) inside.exec(`SAVEPOINT ${marker}`);
        hasMarker = true;
        return inside.native;
      },
    },
    commit,
    rollback,
  };
}

// Statements on the driver's connection are not seen: COMMIT and then BEGIN would leave a transaction open, but without
// this savepoint.
const marker = "workspace_tasks_transaction";

function releaseMarker(transaction: ExclusiveTransaction): void {
  const connection = transaction.connection();
  try {
    connection.exec(`RELEASE ${marker}`);
  } catch {
    throw endedBySql("COMMIT or ROLLBACK on the driver's connection");
  }
}

async function open({ beginExclusive, claim, settlement, now }: Dependencies): Promise<ExclusiveTransaction> {
  const transaction = await beginExclusive();
  try {
    const connection = transaction.connection();
    const { advance } = settlement;
    if (!isHeld(connection, claim)) throw leaseLost();
    if (advance && !advanceHead(connection, claim, advance, now())) throw superseded();
    return transaction;
  } catch (error) {
    transaction.end("ROLLBACK");
    throw error;
  }
}
