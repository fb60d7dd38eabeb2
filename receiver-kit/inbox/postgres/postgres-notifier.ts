// Tells the listening processes that rows wait. A transaction that notifies holds a lock of the whole server until it is
// on disk, so commits that notify wait for each other, those of other processes too. A notification that has nothing
// else to write waits for no disk; so it goes out by itself, after the commit. One that is lost costs a poll.

import type { PostgresPool } from "./postgres-pool.ts";

/** Returns a function that notifies `channel`, a plain identifier: once for all who ask while a notification is under way. */
export function createNotifier(pool: PostgresPool, channel: string): () => void {
  let telling = false;
  let again = false;

  const notifyListener = async () => {
    telling = true;
    while (again) {
      again = false;
      // A failure is the next poll's affair.
      await pool.query(`NOTIFY ${channel}`).catch(() => undefined);
    }
    telling = false;
  };

  return () => {
    again = true;
    if (!telling) void notifyListener();
  };
}
