import type { Clock } from "../../clock.ts";
import type { ReceiverError } from "../../errors.ts";
import { transactionEnded } from "../lazy-transaction.ts";
import { endedBySql } from "../transaction-control.ts";
import { hasOtherSettings, nativeOf } from "./connection-settings.ts";
import type { SqliteConnection } from "./sqlite-driver.ts";
import { type OpenTransaction, sqliteEndings, transactionTooLong } from "./sqlite-shared-transaction.ts";

/** A transaction of one event. */
export interface AloneTransaction extends OpenTransaction {
  /** The connection is closed at its end, so that what was set there is gone. */
  replaceConnection(): void;
}

interface AloneOptions {
  readonly timeoutMs: number;
  readonly clock: Clock;
  commit(): void;
  /** With the error of a commit that failed. */
  rollBack(error?: unknown): void;
  /** Called once, after either. `isUnusable` may be called while the connection is open. */
  release(isUnusable: () => boolean): void;
}

/** The transaction that has begun on the connection; it is rolled back after `timeoutMs`. */
export function createAloneTransaction(
  connection: SqliteConnection,
  { timeoutMs, clock, commit, rollBack, release }: AloneOptions,
): AloneTransaction {
  let ended: ReceiverError | undefined;
  let isReplaced = false;
  let hadNative = false;
  const end = (how: () => void, reason: ReceiverError) => {
    if (ended) return;
    ended = reason;
    cancelTimeout();
    try {
      how();
    } catch (error) {
      rollBack(error);
      throw error;
    } finally {
      release(() => isReplaced || (hadNative && hasOtherSettings(connection)));
    }
  };
  const cancelTimeout = clock.schedule(timeoutMs, () => end(rollBack, transactionTooLong(timeoutMs)));
  const open = () => {
    // SQLite would execute and commit each statement after the end by itself.
    if (!ended && !connection.isInTransaction()) end(rollBack, endedBySql(sqliteEndings));
    if (ended) throw ended;
    return connection;
  };
  return {
    connection: open,
    native() {
      hadNative = true;
      return nativeOf(open());
    },
    replaceConnection() {
      isReplaced = true;
    },
    async commit() {
      if (ended) throw ended;
      end(commit, transactionEnded());
      return "settled";
    },
    async rollback() {
      end(rollBack, transactionEnded());
    },
  };
}
