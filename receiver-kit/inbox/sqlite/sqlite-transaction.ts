import { LeaseLostError, SupersededError, TransactionEndedError } from "../../errors.ts";
import type { Claim, HandlerTransaction, HeadAdvance, Settlement, SettleOutcome } from "../inbox.ts";
import type { SqliteConnection, SqliteRow, SqliteValue } from "./sqlite-driver.ts";
import * as sql from "./sqlite-statements.ts";
import type { SqliteHold } from "./sqlite-writer.ts";

/** What handlers see as `context.transaction` with the SQLite inbox. */
export interface SqliteTransaction {
  /**
   * Runs one statement in the transaction in which the event counts as handled: the statement's effects stay if and
   * only if that does. Values are text, numbers, bigints, bytes or null. The first query takes the file's only write
   * lock, so do network calls before it.
   */
  query(statement: string, values?: readonly SqliteValue[]): Promise<readonly SqliteRow[]>;
  /** The driver's own connection, inside the same transaction; use it before the next `await` on anything else. */
  connection(): Promise<unknown>;
}

type TransactionDependencies = {
  readonly claim: Claim;
  readonly settlement: Settlement;
  readonly hold: () => Promise<SqliteHold>;
  /** Settles without a transaction of its own, together with whatever else is being written. */
  readonly settleInGroup: () => Promise<SettleOutcome>;
  readonly now: () => number;
  /** Called when the row has reached an end. */
  readonly ended: () => void;
};

export function beginSqliteTransaction(
  parts: TransactionDependencies,
): HandlerTransaction<SqliteTransaction> {
  const { claim, settlement } = parts;
  let opening: Promise<SqliteHold> | undefined;
  let ended = false;

  const open = async () => {
    const hold = await parts.hold();
    try {
      const connection = hold.connection();
      if (!isHeld(connection, claim)) throw new LeaseLostError();
      if (settlement.move && !advanceHead(connection, claim.source, settlement.move, parts.now())) {
        throw new SupersededError();
      }
      return hold;
    } catch (error) {
      hold.end("ROLLBACK");
      throw error;
    }
  };
  const connection = async () => {
    if (ended) throw new TransactionEndedError("the transaction of this event has ended");
    opening ??= open();
    return (await opening).connection();
  };

  return {
    handle: {
      query: async (statement, values) => (await connection()).query(statement, values),
      connection: async () => (await connection()).native,
    },
    async commit() {
      ended = true;
      const outcome = opening ? await commitOpened(opening, settlement, claim) : await parts.settleInGroup();
      parts.ended();
      return outcome;
    },
    async rollback() {
      ended = true;
      const hold = await opening?.catch(() => undefined);
      hold?.end("ROLLBACK");
    },
  };
}

async function commitOpened(
  opening: Promise<SqliteHold>,
  settlement: Settlement,
  claim: Claim,
): Promise<SettleOutcome> {
  try {
    const hold = await opening;
    hold.connection().changePrepared(sql.settleRow, [claim.seq, settlement.state]);
    hold.end("COMMIT");
    return "settled";
  } catch (error) {
    if (error instanceof LeaseLostError) return "lost";
    if (error instanceof SupersededError) return "superseded";
    throw error;
  }
}

/** Ends a row and moves its head, inside a transaction of the writer. */
export function settle(
  connection: SqliteConnection,
  claim: Claim,
  { state, move }: Settlement,
  nowMs: number,
): SettleOutcome {
  if (!isHeld(connection, claim)) return "lost";
  const moved = !move || advanceHead(connection, claim.source, move, nowMs);
  connection.changePrepared(sql.settleRow, [claim.seq, moved ? state : "stale"]);
  return moved ? "settled" : "settled-stale";
}

function isHeld(connection: SqliteConnection, { seq, worker, generation }: Claim): boolean {
  return connection.queryPrepared(sql.checkHeld, [seq, worker, generation]).length > 0;
}

function advanceHead(
  connection: SqliteConnection,
  source: string,
  move: HeadAdvance,
  nowMs: number,
): boolean {
  const values = [source, move.key, move.position, move.status, nowMs, move.allowSame ? 1 : 0];
  return connection.changePrepared(sql.advanceHead, values) > 0;
}
