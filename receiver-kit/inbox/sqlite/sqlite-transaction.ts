import type { HandlerTransaction, InboxClaim, InboxSettlement, InboxSettleOutcome } from "../inbox.ts";
import { createLazyTransaction, leaseLost, superseded } from "../lazy-transaction.ts";
import { isSuperseded, settledEnd } from "../row-end.ts";
import { controlKeyword, controlRejected, endedBySql } from "../transaction-control.ts";
import type { SqliteRow, SqliteValue } from "./sqlite-driver.ts";
import { endRow, readLease } from "./sqlite-ends.ts";
import type { OpenTransaction } from "./sqlite-shared-transaction.ts";

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
  readonly claim: InboxClaim;
  readonly settlement: InboxSettlement;
  readonly beginOpen: () => Promise<OpenTransaction>;
  readonly settleInGroup: () => Promise<InboxSettleOutcome>;
  readonly now: () => number;
  /** Rows of the source can be claimed now. */
  wake(source: string): void;
}

export function beginSqliteTransaction(dependencies: Dependencies): HandlerTransaction<SqliteTransaction> {
  const { claim, settlement, settleInGroup, now, wake } = dependencies;
  let hasMarker = false;
  const { opened, fail, commit, rollback } = createLazyTransaction<OpenTransaction>({
    open: () => open(dependencies),
    async commit(transaction) {
      if (hasMarker) releaseMarker(transaction);
      const requested = settledEnd(claim, settlement);
      const ended = endRow(transaction.connection(), requested, now());
      if (ended?.result !== requested.outcome) {
        await transaction.rollback();
        throw ended ? superseded() : leaseLost();
      }
      const outcome = await transaction.commit();
      if (ended.hasMore) wake(claim.source);
      return outcome;
    },
    rollBack: (transaction) => transaction.rollback(),
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

function releaseMarker(transaction: OpenTransaction): void {
  const connection = transaction.connection();
  try {
    connection.exec(`RELEASE ${marker}`);
  } catch {
    throw endedBySql("COMMIT or ROLLBACK on the driver's connection");
  }
}

async function open({ beginOpen, claim, settlement }: Dependencies): Promise<OpenTransaction> {
  const transaction = await beginOpen();
  try {
    const lease = readLease(transaction.connection(), claim.lease);
    if (!lease) throw leaseLost();
    if (isSuperseded(settlement, lease.head)) throw superseded();
    return transaction;
  } catch (error) {
    await transaction.rollback();
    throw error;
  }
}
