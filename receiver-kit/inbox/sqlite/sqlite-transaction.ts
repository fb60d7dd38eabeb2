import { ReceiverError } from "../../errors.ts";
import { guarded } from "../guarded.ts";
import type { HandlerTransaction, InboxSettling } from "../inbox.ts";
import {
  createLazyTransaction,
  type LazyTransactionOptions,
  leaseLost,
  leftShared,
  superseded,
} from "../lazy-transaction.ts";
import { isSuperseded, reopen, settledEnd } from "../row-end.ts";
import { hasSecondStatement, remembering } from "../sql/statement-text.ts";
import { controlKeyword, controlRejected, endedBySql } from "../sql/transaction-control.ts";
import { concernsConnection } from "./connection-settings.ts";
import type { SqliteRow, SqliteValue } from "./sqlite-driver.ts";
import { endRow, readLease } from "./sqlite-ends.ts";
import type { Turn } from "./sqlite-shared-transaction.ts";

/** What handlers see as `context.transaction` with the SQLite inbox. */
export interface SqliteTransaction {
  /**
   * Runs one statement in the transaction in which the event counts as handled: its effects are kept if and only if the
   * event is. Values are text, numbers, bigints, bytes or null. The first query takes the file's only write lock, so
   * call other services before it.
   *
   * Events share transactions. A statement that may set something for the connection (PRAGMA, ATTACH, a temporary object)
   * is not shared: the event is handled again in a transaction of its own, and the connection is replaced afterwards, which
   * takes milliseconds. What all events need is set by the option `driver`.
   *
   * @throws {ReceiverError} `TRANSACTION_ENDED_BY_SQL` for BEGIN, COMMIT and ROLLBACK, which are not executed, and after
   * a statement that ended the transaction, such as INSERT OR ROLLBACK; the attempt then fails. SAVEPOINT is allowed.
   */
  query(statement: string, values?: readonly SqliteValue[]): Promise<readonly SqliteRow[]>;
  /**
   * The driver's own connection, inside the same transaction, which it must not end. Use it before the next `await` on
   * anything else; its `close` does nothing. Pragmas, temporary objects and attached files that it leaves are not seen by
   * other events; functions and the driver's own settings are: set those by the option `driver`.
   */
  connection(): Promise<unknown>;
}

interface Dependencies {
  readonly items: readonly InboxSettling[];
  /** It may not be shared. */
  readonly isAlone: boolean;
  /** The next transaction of the event may not be shared. */
  readonly onMustBeAlone: () => void;
  readonly begin: (isAlone: boolean) => Promise<Turn>;
  readonly settleInGroup: LazyTransactionOptions<Turn>["settleInGroup"];
  readonly now: () => number;
  /** Rows of the source can be claimed now. */
  wake(source: string): void;
  /** What a handler gets instead of an error of the driver. */
  explain(error: unknown): unknown;
}

const examine = remembering((statement) => ({
  keyword: controlKeyword(statement, "sqlite"),
  isSeveral: hasSecondStatement(statement),
  concerns: concernsConnection(statement),
}));

export function beginSqliteTransaction(dependencies: Dependencies): HandlerTransaction<SqliteTransaction> {
  const { items, settleInGroup, onMustBeAlone, now, wake } = dependencies;
  let hasMarker = false;
  let isShared = false;
  let setsConnection = false;
  const { opened, fail, commit, rollback } = createLazyTransaction<Turn>({
    items,
    open() {
      isShared = !dependencies.isAlone && !setsConnection;
      return open(dependencies, !isShared);
    },
    async commit(transaction) {
      if (hasMarker) releaseMarker(transaction);
      const requested = items.map(({ claim, settlement }) => settledEnd(claim, settlement));
      const waiting = new Set<string>();
      const outcome = await transaction.commit((connection) => {
        for (const each of requested) {
          const ended = endRow(connection, each, now());
          if (ended?.result !== each.outcome) throw ended ? superseded() : leaseLost();
          if (ended.hasMore) waiting.add(each.claim.source);
        }
      });
      if (outcome === "lost") onMustBeAlone();
      for (const source of waiting) wake(source);
      return outcome;
    },
    rollBack: (transaction) => transaction.rollback(),
    settleInGroup,
  });
  return {
    handle: {
      async query(statement, values) {
        const { keyword, isSeveral, concerns } = examine(statement);
        if (keyword) return fail(controlRejected(keyword));
        if (isSeveral) {
          const message = "query: statement: expected one SQL statement, got several: call query for each";
          throw new ReceiverError("ARGUMENT_INVALID", message);
        }
        if (concerns && isShared) {
          onMustBeAlone();
          return fail(leftShared("the statement concerns the connection"));
        }
        setsConnection ||= concerns;
        const transaction = await opened();
        const connection = transaction.connection();
        if (concerns) transaction.isReplaced = true;
        try {
          return connection.query(statement, values);
        } catch (error) {
          throw dependencies.explain(error);
        }
      },
      async connection() {
        const transaction = await opened();
        const inside = transaction.connection();
        if (!hasMarker) inside.exec(`SAVEPOINT ${marker}`);
        hasMarker = true;
        return guarded(transaction.native() as object, { close() {} });
      },
    },
    commit,
    async rollback() {
      await rollback();
      reopen(items);
    },
  };
}

// Statements on the driver's connection are not seen: COMMIT and then BEGIN would leave a transaction open, but without
// this savepoint.
const marker = "workspace_tasks_transaction";

function releaseMarker(transaction: Turn): void {
  const connection = transaction.connection();
  try {
    connection.exec(`RELEASE ${marker}`);
  } catch {
    throw endedBySql("COMMIT or ROLLBACK on the driver's connection");
  }
}

async function open({ items, begin }: Dependencies, isAlone: boolean): Promise<Turn> {
  const transaction = await begin(isAlone);
  try {
    for (const { claim, settlement } of items) {
      const lease = readLease(transaction.connection(), claim.lease);
      if (!lease) throw leaseLost();
      if (isSuperseded(settlement, lease["head"])) throw superseded();
    }
    return transaction;
  } catch (error) {
    await transaction.rollback();
    throw error;
  }
}
