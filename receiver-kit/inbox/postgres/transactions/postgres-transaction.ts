import { inSeries } from "@workspace-tasks/kernel/in-series.ts";
import type { HandlerTransaction, InboxClaim, InboxSettlement, InboxSettleOutcome } from "../../inbox.ts";
import { createLazyTransaction, leaseLost, superseded } from "../../lazy-transaction.ts";
import { isSuperseded, type RowEndResult, settledEnd } from "../../row-end.ts";
import { controlKeyword, controlRejected, endedBySql } from "../../sql/transaction-control.ts";
import type { PooledClient } from "../connection/bounded-pool.ts";
import { endTransaction, watchTransaction } from "../connection/watch-transaction.ts";
import { ownQueryAfter } from "../sql/own-query.ts";
import { begin } from "../sql/postgres-expressions.ts";
import type { PostgresClient, PostgresRow } from "../sql/postgres-pool.ts";
import { isLeftOver, resetRole } from "../sql/session-reset.ts";
import { FailedStatements } from "./failed-statements.ts";
import { createHandlerClient } from "./handler-client.ts";
import { endRows, type PostgresDatabase } from "./postgres-operations.ts";

/** What handlers see as `context.transaction` with the PostgreSQL inbox. */
export interface PostgresTransaction {
  /**
   * Runs one statement in the transaction in which the event counts as handled: its effects are kept if and only if the
   * event is. Events share transactions: from its first query on, a handler has the transaction for itself until it ends
   * or `turnMs` is over; up to eight that send one plain statement each have it together, and are kept or undone together.
   * After `turnMs`, when a statement cannot be shared, or when another event was undone with it, the handlers of the event
   * run again, which counts as the same attempt. Shared are SELECT, INSERT, UPDATE, DELETE, MERGE, WITH, VALUES, NOTIFY
   * and savepoints. What a handler sets or leaves in the session, no other one sees: see `resetSessions`.
   *
   * @throws {ReceiverError} `TRANSACTION_ENDED_BY_SQL` for BEGIN, COMMIT and ROLLBACK, which are not executed; the
   * attempt then fails. SAVEPOINT is allowed.
   */
  query(statement: string, values?: unknown[]): Promise<readonly PostgresRow[]>;
  /**
   * The client of `pg` that the transaction runs on, as an ORM takes it; that transaction is never shared. What would begin
   * or end a transaction is rejected as by `query`, and so is every query after the end. `release`, `connect` and `end` do
   * nothing, and a statement with a `name` is not prepared. What is set on it, such as a type parser or a listener, is taken
   * back at the end.
   */
  client(): Promise<PostgresClient>;
}

export interface TransactionDependencies {
  readonly database: PostgresDatabase;
  readonly claim: InboxClaim;
  readonly settlement: InboxSettlement;
  readonly timeoutMs: number;
  /** The handlers do not run again in this attempt. */
  readonly isAlone?: boolean | undefined;
  /** In a shared one no other event has a turn at the same time. */
  readonly isInTurn?: boolean | undefined;
  /** Executed after the transaction; may be empty. */
  readonly resetSession: string;
  readonly settleInGroup: () => Promise<InboxSettleOutcome>;
  /** Rows of the source can be claimed now. */
  notify(source: string): void;
}

/** A transaction of one event. */
export function beginPostgresTransaction(
  dependencies: TransactionDependencies,
): HandlerTransaction<PostgresTransaction> {
  const { settleInGroup, resetSession, isAlone } = dependencies;
  const failed = new FailedStatements();
  const series = inSeries();
  let isExclusive = false;
  let handlerClient: ReturnType<typeof createHandlerClient> | undefined;
  const { opened, throwIfEnded, fail, commit, rollback } = createLazyTransaction<OpenedTransaction>({
    open() {
      isExclusive = true;
      return open(dependencies);
    },
    async commit({ id, pooled, end }) {
      handlerClient?.restore();
      const commit = async () => {
        const { hasMore } = await endInTransaction(dependencies, pooled, id);
        // One message: behind a pooler the next one may reach another session.
        return { hasMore, isTainted: isLeftOver(await pooled.query(`COMMIT; ${resetSession}`)) };
      };
      try {
        const { hasMore, isTainted } = await pooled.withinForHandler(commit());
        pooled.release(isTainted);
        if (hasMore) dependencies.notify(dependencies.claim.source);
        return "settled";
      } catch (error) {
        throw failed.explain(error);
      } finally {
        end();
      }
    },
    rollBack: async ({ pooled, end }) => {
      handlerClient?.restore();
      await pooled.rollBack(resetSession);
      end();
    },
    settleInGroup,
  });
  const check = (statement: string, client?: PostgresClient) => {
    // Afterwards the client belongs to another transaction of the pool.
    throwIfEnded();
    const keyword = controlKeyword(statement, "postgres");
    if (keyword) fail(controlRejected(keyword));
    // The server would execute and commit each statement after the end by itself.
    if (client?.getTransactionStatus?.() === "I") fail(endedBySql(endings));
  };
  const query: PostgresTransaction["query"] = async (statement, values) => {
    const { client } = (await opened()).pooled;
    check(statement, client);
    const single = { text: statement, queryMode: "extended" } as const;
    try {
      return (await (values?.length ? client.query(statement, values) : client.query(single))).rows;
    } catch (error) {
      throw failed.add(statement, error);
    }
  };
  return {
    handle: {
      async query(statement, values) {
        check(statement);
        // What fails leaves none behind it at the client.
        return series(() => query(statement, values));
      },
      async client() {
        const { client } = (await opened()).pooled;
        handlerClient ??= createHandlerClient({
          ...{ client, series, failed },
          check: (statement) => check(statement, client),
        });
        return handlerClient.guarded;
      },
    },
    get isExclusive() {
      return isExclusive;
    },
    commit,
    async rollback() {
      await rollback();
      return failed.isConflict && !isAlone ? "repeat" : undefined;
    },
  };
}

const endings = "a COMMIT or ROLLBACK";

/** Ends the row as requested, or throws why that cannot be. */
async function endInTransaction(
  dependencies: TransactionDependencies,
  pooled: PooledClient,
  id: string,
): Promise<RowEndResult> {
  const { database, claim, settlement, resetSession } = dependencies;
  const requested = settledEnd(claim, settlement);
  // The handler may have set a role that may not use the inbox.
  const queries = resetSession ? ownQueryAfter(resetRole, pooled) : pooled;
  const [ended] = await endRows(queries, database, [requested], id);
  if (ended?.result === requested.outcome) return ended;
  if (ended) throw superseded();
  const { rows } = await pooled.query(database.sql.currentTransaction);
  throw rows[0]?.["xact"] === id ? leaseLost() : endedBySql(endings);
}

interface OpenedTransaction {
  readonly pooled: PooledClient;
  /** Of the server's transaction. */
  readonly id: string;
  /** Called when the transaction was committed or rolled back, or its client is dead. */
  end(): void;
}

/**
 * Nothing of the inbox is locked while the handler runs: the end of the row, right before the commit, fails when the
 * lease was lost meanwhile. The server is told to end a transaction whose process is paused.
 */
async function open(dependencies: TransactionDependencies): Promise<OpenedTransaction> {
  const { database, claim, settlement, timeoutMs } = dependencies;
  const { pool, sql } = database;
  const pooled = await pool.checkOut();
  const beginTransaction = async () => {
    const limitMs = Math.max(1, Math.ceil(timeoutMs));
    await pooled.query(
      `${begin}; SET LOCAL idle_in_transaction_session_timeout = ${limitMs}; SET LOCAL statement_timeout = ${limitMs}`,
    );
    const { keyId, worker, generation } = claim.lease;
    const [lease] = (await pooled.query(sql.checkLease, [keyId, worker, generation])).rows;
    if (!lease) throw leaseLost();
    if (isSuperseded(settlement, lease["head"])) throw superseded();
    return { id: String(lease["xact"]), pid: Number(lease["pid"]), began: String(lease["began"]) };
  };
  try {
    const { id, ...backend } = await pooled.within(beginTransaction());
    const unwatch = watchTransaction(pool, pooled, backend);
    return {
      ...{ id, pooled },
      end() {
        unwatch();
        // The transaction of a dead client is still open at the server, with its row locked.
        if (pooled.isBroken) void endTransaction(pool, backend);
      },
    };
  } catch (error) {
    await pooled.rollBack();
    throw error;
  }
}
