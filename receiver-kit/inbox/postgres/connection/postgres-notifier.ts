// Notifies the listening processes that rows wait. A transaction that notifies holds a lock of the whole server until it
// is on disk, so commits that notify wait for each other, those of other processes too. A notification with nothing else
// to write waits for no disk, so it is sent on its own after the commit. A lost one only delays the row until the next
// poll. It names the source, so that only the receivers of that source poll.

import type { PostgresQueryable } from "../sql/postgres-pool.ts";

/** Returns a function that notifies `channel`, a plain identifier. Calls during a notification share the next one. */
export function createNotifier(pool: PostgresQueryable, channel: string): (source: string) => void {
  let notifying = false;
  const sources = new Set<string>();

  const notify = async () => {
    notifying = true;
    while (sources.size > 0) {
      const names = [...sources];
      sources.clear();
      // Errors are ignored: the next poll finds the rows.
      await pool.query(notification, [channel, names]).catch(() => undefined);
    }
    notifying = false;
  };

  return (source) => {
    sources.add(source);
    if (!notifying) void notify();
  };
}

const notification = "SELECT pg_notify($1, source) FROM unnest($2::text[]) AS source";
