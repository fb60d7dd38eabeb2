import { inSeries } from "@workspace-tasks/kernel/in-series.ts";
import { isReceiverError } from "../../../errors.ts";
import type { HandlerTransaction, InboxFault, InboxSettling } from "../../inbox.ts";
import {
  createLazyTransaction,
  type LazyTransactionOptions,
  leaseLost,
  superseded,
} from "../../lazy-transaction.ts";
import { isSuperseded, reopen, settledEnd } from "../../row-end.ts";
import { controlKeyword, controlRejected, endedBySql } from "../../sql/transaction-control.ts";
import type { PooledClient } from "../connection/bounded-pool.ts";
import { endTransaction, watchTransaction } from "../connection/watch-transaction.ts";
import { ownQueryAfter } from "../sql/own-query.ts";
import { begin } from "../sql/postgres-expressions.ts";
import type { PostgresClient, PostgresRow } from "../sql/postgres-pool.ts";
import { FailedStatements } from "./failed-statements.ts";
import { createHandlerClient } from "./handler-client.ts";
import { endRows, type PostgresDatabase } from "./postgres-operations.ts";

/** What handlers see as `context.transaction` with the PostgreSQL inbox. */
export interface PostgresTransaction {
  /**
   * Runs one statement in the transaction in which the event counts as handled: its effects are kept if and only if the
   * event is. It has a client of the pool for itself: what is set for the transaction ends with it, what is set for the
   * session stays in that client.
   *
   * @throws {ReceiverError} `TRANSACTION_ENDED_BY_SQL` for BEGIN, COMMIT and ROLLBACK, which are not executed; the
   * attempt then fails. SAVEPOINT is allowed.
   */
  query(statement: string, values?: unknown[]): Promise<readonly PostgresRow[]>;
  /**
   * The client of `pg` that the transaction runs on, as an ORM takes it. What would begin
   * or end a transaction is rejected as by `query`, and so is every query after the end. `release`, `connect` and `end` do
   * nothing, and a statement with a `name` is not prepared. What is set on it, such as a type parser or a listener, is taken
   * back at the end.
   */
  client(): Promise<PostgresClient>;
}

export interface TransactionDependencies {
  readonly database: PostgresDatabase;
  readonly items: readonly InboxSettling[];
  readonly timeoutMs: number;
  readonly settleInGroup: LazyTransactionOptions<OpenedTransaction>["settleInGroup"];
  /** Rows of the source can be claimed now. */
  notify(source: string): void;
}

/** A transaction of one event, or of a batch. */
export function beginPostgresTransaction(
  dependencies: TransactionDependencies,
): HandlerTransaction<PostgresTransaction> {
  const { items, settleInGroup } = dependencies;
  const failed = new FailedStatements();
  const series = inSeries();
  let fault: InboxFault | undefined;
  let handlerClient: ReturnType<typeof createHandlerClient> | undefined;
  const { opened, throwIfEnded, fail, commit, rollback } = createLazyTransaction<OpenedTransaction>({
    items,
    async open() {
      try {
        return await open(dependencies);
      } catch (error) {
        if (!isReceiverError(error, "LEASE_LOST") && !isReceiverError(error, "SUPERSEDED"))
          fault = "connection";
        throw error;
      }
    },
    async commit({ id, pooled, end }) {
      handlerClient?.restore();
      const commit = async () => {
        const waiting = await endInTransaction(dependencies, pooled, id);
        await pooled.query("COMMIT");
        return waiting;
      };
      try {
        const waiting = await pooled.withinForHandler(commit());
        pooled.release();
        for (const source of waiting) dependencies.notify(source);
        return "settled";
      } catch (error) {
        throw failed.explain(error);
      } finally {
        end();
      }
    },
    rollBack: async ({ pooled, end }) => {
      handlerClient?.restore();
      await pooled.rollBack();
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
    get fault() {
      return failed.isConflict ? "conflict" : fault;
    },
    commit,
    async rollback() {
      await rollback();
      reopen(items);
    },
  };
}

const endings = "a COMMIT or ROLLBACK";

/** Ends the rows as requested, or throws why that cannot be. Returns the sources of keys that have more rows. */
async function endInTransaction(
  dependencies: TransactionDependencies,
  pooled: PooledClient,
  id: string,
): Promise<ReadonlySet<string>> {
  const { database, items } = dependencies;
  const requested = items.map(({ claim, settlement }) => settledEnd(claim, settlement));
  // The handler may have set a role that may not use the inbox.
  const ended = await endRows(ownQueryAfter(resetRole, pooled), database, requested, id);
  const isAsRequested = requested.every(({ outcome }, index) => ended[index]?.result === outcome);
  if (isAsRequested) {
    const waiting = requested.filter((_, index) => ended[index]?.hasMore);
    return new Set(waiting.map(({ claim }) => claim.source));
  }
  if (ended.every((row) => row !== undefined)) throw superseded();
  const { rows } = await pooled.query(database.sql.currentTransaction);
  throw rows[0]?.["xact"] === id ? leaseLost() : endedBySql(endings);
}

const resetRole = "RESET SESSION AUTHORIZATION; RESET ROLE";

export interface OpenedTransaction {
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
  const { database, items, timeoutMs } = dependencies;
  const { pool, sql } = database;
  const pooled = await pool.checkOut();
  const beginTransaction = async () => {
    const limitMs = Math.max(1, Math.ceil(timeoutMs));
    await pooled.query(
      `${begin}; SET LOCAL idle_in_transaction_session_timeout = ${limitMs}; SET LOCAL statement_timeout = ${limitMs}`,
    );
    let found: PostgresRow = {};
    for (const { claim, settlement } of items) {
      const { keyId, worker, generation } = claim.lease;
      const [lease] = (await pooled.query(sql.checkLease, [keyId, worker, generation])).rows;
      if (!lease) throw leaseLost();
      if (isSuperseded(settlement, lease["head"])) throw superseded();
      found = lease;
    }
    return { id: String(found["xact"]), pid: Number(found["pid"]), began: String(found["began"]) };
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
