// Notifies the listening processes that rows wait. A transaction that notifies holds a lock of the whole server until it
// is on disk, so commits that notify wait for each other, those of other processes too. A NOTIFY with nothing else to
// write waits for no disk, so it is sent on its own after the commit. A lost notification only delays the row until the
// next poll.

import type { PostgresPool } from "./postgres-pool.ts";

/** Returns a function that notifies `channel`, a plain identifier. Calls during a notification share the next one. */
export function createNotifier(pool: PostgresPool, channel: string): () => void {
  let notifying = false;
  let again = false;

  const notify = async () => {
    notifying = true;
    while (again) {
      again = false;
      // Errors are ignored: the next poll finds the rows.
      await pool.query(`NOTIFY ${channel}`).catch(() => undefined);
    }
    notifying = false;
  };

  return () => {
    again = true;
    if (!notifying) void notify();
  };
}
