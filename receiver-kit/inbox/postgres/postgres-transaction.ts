import { LeaseLostError, SupersededError, TransactionEndedError } from "../../errors.ts";
import type { Claim, HandlerTransaction, Settlement, SettleOutcome } from "../inbox.ts";
import {
  checkOutClient,
  type PooledClient,
  type PostgresClient,
  type PostgresPool,
  type PostgresRow,
} from "./postgres-pool.ts";
import type { PostgresStatements } from "./postgres-statements.ts";

/** What handlers see as `context.transaction` with the PostgreSQL inbox. */
export interface PostgresTransaction {
  /**
   * Runs one statement in the transaction in which the event counts as handled: the statement's effects stay if and
   * only if that does. The first query takes a client from the pool, for as long as the handler runs.
   */
  query(statement: string, values?: unknown[]): Promise<readonly PostgresRow[]>;
  /** The client of `pg` that the transaction runs on. It must not be released, committed or rolled back. */
  client(): Promise<PostgresClient>;
}

type TransactionDependencies = {
  readonly pool: PostgresPool;
  readonly sql: PostgresStatements;
  readonly claim: Claim;
  readonly settlement: Settlement;
  readonly timeoutMs: number;
  /** Milliseconds for the statements' `$1`; `null` for the server's clock. */
  readonly now: () => number | null;
  readonly settleInGroup: () => Promise<SettleOutcome>;
};

export function beginPostgresTransaction(
  parts: TransactionDependencies,
): HandlerTransaction<PostgresTransaction> {
  let opening: Promise<PooledClient> | undefined;
  let ended = false;

  const client = async () => {
    if (ended) throw new TransactionEndedError("the transaction of this event has ended");
    opening ??= open(parts);
    const lease = await opening;
    if (ended) throw new TransactionEndedError("the transaction of this event has ended");
    return lease.client;
  };

  return {
    handle: {
      query: async (statement, values) => (await (await client()).query(statement, values)).rows,
      client,
    },
    async commit() {
      ended = true;
      return opening ? commitOpened(opening, parts) : parts.settleInGroup();
    },
    async rollback() {
      ended = true;
      const lease = await opening?.catch(() => undefined);
      if (lease) await rollBack(lease);
    },
  };
}

/**
 * The row is locked for as long as the transaction is open, so that nobody reclaims it; hence the server is told to
 * end a transaction whose process stands still.
 */
async function open({
  pool,
  sql,
  claim,
  settlement,
  timeoutMs,
  now,
}: TransactionDependencies): Promise<PooledClient> {
  const lease = await checkOutClient(pool);
  try {
    const limitMs = Math.max(1, Math.ceil(timeoutMs));
    await lease.client.query(
      `BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${limitMs}; SET LOCAL statement_timeout = ${limitMs}`,
    );
    const { seq, worker, generation } = claim;
    const { move } = settlement;
    const values = [
      now(),
      seq,
      worker,
      generation,
      move?.key ?? null,
      move?.position ?? null,
      move?.status ?? null,
    ];
    const { rows } = await lease.client.query(sql.openTransaction, [...values, move?.allowSame ?? false]);
    if (rows[0]?.["held"] !== true) throw new LeaseLostError();
    if (move && rows[0]?.["moved"] !== true) throw new SupersededError();
    return lease;
  } catch (error) {
    await rollBack(lease);
    throw error;
  }
}

async function commitOpened(
  opening: Promise<PooledClient>,
  { sql, claim, settlement }: TransactionDependencies,
): Promise<SettleOutcome> {
  try {
    const lease = await opening;
    await lease.client.query(sql.settleOpened, [claim.seq, settlement.state]);
    await lease.client.query("COMMIT");
    lease.release();
    return "settled";
  } catch (error) {
    if (error instanceof LeaseLostError) return "lost";
    if (error instanceof SupersededError) return "superseded";
    throw error;
  }
}

async function rollBack(lease: PooledClient): Promise<void> {
  await lease.client.query("ROLLBACK").then(
    () => lease.release(),
    () => lease.release("destroy"),
  );
}
