import type { Claim, HandlerTransaction, Settlement, SettleOutcome } from "../inbox.ts";
import { createLazyTransaction, leaseLost, superseded } from "../lazy-transaction.ts";
import { controlKeyword, controlRejected, endedBySql } from "../transaction-control.ts";
import type { PooledClient } from "./bounded-pool.ts";
import type { PostgresDatabase } from "./postgres-operations.ts";
import type { PostgresClient, PostgresRow } from "./postgres-pool.ts";
import { endTransaction, watchTransaction } from "./watch-transaction.ts";

/** What handlers see as `context.transaction` with the PostgreSQL inbox. */
export interface PostgresTransaction {
  /**
   * Runs one statement in the transaction in which the event counts as handled: its effects are kept if and only if the
   * event is. The first query takes a client from the pool, for as long as the handler runs.
   *
   * @throws {ReceiverError} `TRANSACTION_ENDED_BY_SQL` for BEGIN, COMMIT and ROLLBACK, which are not executed; the
   * attempt then fails. SAVEPOINT is allowed.
   */
  query(statement: string, values?: unknown[]): Promise<readonly PostgresRow[]>;
  /**
   * The client of `pg` that the transaction runs on, as an ORM takes it. It must not be released. What would begin or
   * end a transaction is rejected as by `query`, and so is every query after the end.
   */
  client(): Promise<PostgresClient>;
}

interface Dependencies extends PostgresDatabase {
  readonly claim: Claim;
  readonly settlement: Settlement;
  readonly timeoutMs: number;
  readonly settleInGroup: () => Promise<SettleOutcome>;
}

export function beginPostgresTransaction(
  dependencies: Dependencies,
): HandlerTransaction<PostgresTransaction> {
  const { sql, claim, settlement, settleInGroup } = dependencies;
  const { opened, throwIfEnded, fail, commit, rollback } = createLazyTransaction<OpenedTransaction>({
    open: () => open(dependencies),
    async commit({ id, pooled, end }) {
      const { client } = pooled;
      const commit = async () => {
        const settled = await client.query(sql.settleOpened, [claim.seq, settlement.state, id]);
        if (settled.rows.length === 0) throw endedBySql(endings);
        await client.query("COMMIT");
      };
      try {
        await pooled.within(commit());
        pooled.release();
      } finally {
        end();
      }
    },
    rollBack: async ({ pooled, end }) => {
      await pooled.rollBack();
      end();
    },
    settleInGroup,
  });
  const check = (statement: string, client?: PostgresClient) => {
    // Afterwards the client belongs to another transaction of the pool.
    throwIfEnded();
    const keyword = controlKeyword(statement);
    if (keyword) fail(controlRejected(keyword));
    // The server would execute and commit each statement after the end by itself.
    if (client?.getTransactionStatus?.() === "I") fail(endedBySql(endings));
  };
  return {
    handle: {
      async query(statement, values) {
        check(statement);
        const { client } = (await opened()).pooled;
        check(statement, client);
        const single = { text: statement, queryMode: "extended" } as const;
        return (await (values?.length ? client.query(statement, values) : client.query(single))).rows;
      },
      async client() {
        const { client } = (await opened()).pooled;
        return guardClient(client, (statement) => check(statement, client));
      },
    },
    commit,
    rollback,
  };
}

const endings = "a COMMIT or ROLLBACK";

/** The client as handlers may use it: `check` sees each statement before it is sent. */
function guardClient(client: PostgresClient, check: (statement: string) => void): PostgresClient {
  const query = (...args: unknown[]) => {
    const [first] = args as [string | { readonly text?: string } | undefined];
    try {
      check((typeof first === "string" ? first : first?.text) ?? "");
    } catch (error) {
      const callback = args.at(-1);
      return typeof callback === "function" ? callback(error) : Promise.reject(error);
    }
    return Reflect.apply(client.query, client, args);
  };
  return new Proxy(client, {
    get(target, property) {
      if (property === "query") return query;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

interface OpenedTransaction {
  readonly pooled: PooledClient;
  /** Of the server's transaction. */
  readonly id: string;
  /** Called when the transaction was committed or rolled back, or its client is dead. */
  end(): void;
}

/**
 * The row is locked while the transaction is open, so that no other process reclaims it; hence the server is told to
 * end a transaction whose process is paused.
 */
async function open(dependencies: Dependencies): Promise<OpenedTransaction> {
  const { pool, sql, claim, settlement, timeoutMs, now } = dependencies;
  const pooled = await pool.checkOut();
  const { client } = pooled;
  const begin = async () => {
    const limitMs = Math.max(1, Math.ceil(timeoutMs));
    await client.query(
      `BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${limitMs}; SET LOCAL statement_timeout = ${limitMs}`,
    );
    const { key = null, position = null, status = null, allowSame = false } = settlement.advance ?? {};
    const row = [claim.seq, claim.worker, claim.generation];
    const { rows } = await client.query(sql.openTransaction, [
      now(),
      ...row,
      key,
      position,
      status,
      allowSame,
    ]);
    if (rows[0]?.["held"] !== true) throw leaseLost();
    if (settlement.advance && rows[0]?.["moved"] !== true) throw superseded();
    return { id: String(rows[0]["id"]), pid: Number(rows[0]["pid"]), began: String(rows[0]["began"]) };
  };
  try {
    const { id, ...backend } = await pooled.within(begin());
    const unwatch = watchTransaction(pool, pooled, backend);
    return {
      ...{ id, pooled },
      end() {
        unwatch();
        // The transaction of a dead client is still open at the server, with its row locked.
        if (pooled.isDestroyed) void endTransaction(pool, backend);
      },
    };
  } catch (error) {
    await pooled.rollBack();
    throw error;
  }
}
