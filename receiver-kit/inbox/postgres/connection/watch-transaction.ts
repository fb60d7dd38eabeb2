// A handler's statement may take as long as the handler may, so its client has no short limit. Whether a statement is
// slow or its connection dead is asked of the server, on another connection: a server that is not working on this
// transaction has nothing to send, so a client that then does not respond to a ping never will.

import { systemClock } from "@workspace-tasks/kernel/clock.ts";
import type { BoundedPool, PooledClient } from "./bounded-pool.ts";
import { isFromServer } from "./server-errors.ts";

/** Names a transaction of the server, also behind a pooler: the process id alone may belong to another one soon. */
export interface Backend {
  readonly pid: number;
  /** When the transaction began, to the microsecond. */
  readonly began: string;
}

/** Checks the client of an open transaction until the returned function is called; destroys it when it is dead. */
export function watchTransaction(pool: BoundedPool, pooled: PooledClient, backend: Backend): () => void {
  let isOver = false;
  let cancel = () => {};

  const check = async () => {
    const isWorking = await pool.query(isWorkingOn, [backend.pid, backend.began], probeLimitMs).then(
      ({ rows }) => rows.length > 0,
      () => undefined,
    );
    if (isOver) return;
    // Undefined: the server cannot be asked, so nothing is known.
    if (isWorking === false) await ping(pooled);
    if (!isOver) scheduleCheck(isWorking === undefined ? retryMs : checkEveryMs);
  };
  const scheduleCheck = (delayMs: number) => {
    cancel = systemClock.schedule(delayMs, () => void check(), { background: true });
  };

  scheduleCheck(checkEveryMs);
  return () => {
    isOver = true;
    cancel();
  };
}

/** Ends the transaction at the server, where it would keep its row locked. Never rejects. */
export async function endTransaction(pool: BoundedPool, { pid, began }: Backend): Promise<void> {
  await pool.query(terminate, [pid, began]).catch(() => undefined);
}

async function ping(pooled: PooledClient): Promise<void> {
  try {
    await pooled.within(pooled.query("SELECT 1"), pingLimitMs);
  } catch (error) {
    // A transaction in which a statement failed reports that, and is alive.
    if (!isFromServer(error)) pooled.release(true);
  }
}

const checkEveryMs = 1_000;
const retryMs = 250;
const probeLimitMs = 1_000;
const pingLimitMs = 1_000;

const transaction = "FROM pg_stat_activity WHERE pid = $1 AND xact_start = $2::timestamptz";
const isWorkingOn = `SELECT 1 ${transaction} AND state NOT LIKE 'idle%'`;
const terminate = `SELECT pg_terminate_backend(pid) ${transaction}`;
