import type { Claim, HandlerTransaction, Settlement, SettleOutcome } from "../inbox.ts";
import { createLazyTransaction, leaseLost, superseded } from "../lazy-transaction.ts";
import type { PostgresDatabase } from "./postgres-operations.ts";
import { checkOutClient, type PooledClient, type PostgresClient, type PostgresRow } from "./postgres-pool.ts";

/** What handlers see as `context.transaction` with the PostgreSQL inbox. */
export interface PostgresTransaction {
  /**
   * Runs one statement in the transaction in which the event counts as handled: its effects are kept if and only if the
   * event is. The first query takes a client from the pool, for as long as the handler runs.
   */
  query(statement: string, values?: unknown[]): Promise<readonly PostgresRow[]>;
  /** The client of `pg` that the transaction runs on. It must not be released, committed or rolled back. */
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
  const { opened, commit, rollback } = createLazyTransaction<PooledClient>({
    open: () => open(dependencies),
    async commit({ client, release }) {
      await client.query(sql.settleOpened, [claim.seq, settlement.state]);
      await client.query("COMMIT");
      release();
    },
    rollBack: ({ rollBack }) => rollBack(),
    settleInGroup,
  });
  const client = async () => (await opened()).client;
  return {
    handle: {
      query: async (statement, values) => (await (await client()).query(statement, values)).rows,
      client,
    },
    commit,
    rollback,
  };
}

/**
 * The row is locked while the transaction is open, so that no other process reclaims it; hence the server is told to
 * end a transaction whose process is paused.
 */
async function open({ pool, sql, claim, settlement, timeoutMs, now }: Dependencies): Promise<PooledClient> {
  const pooled = await checkOutClient(pool);
  const { client, rollBack } = pooled;
  try {
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
    return pooled;
  } catch (error) {
    await rollBack();
    throw error;
  }
}
