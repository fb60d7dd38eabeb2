// What a handler leaves in a session, the next one would find there: settings, of which the server lists not even the
// names; roles, locks of the session, cursors, LISTEN, values of sequences. All are reset after each handler, as poolers
// do, also within a shared transaction. What cannot be reset there is reported: temporary objects, prepared statements,
// locks of the transaction.
//
// The search for advisory locks takes the server longer than the rest of a reset. No other event can release one of the
// transaction, so a shared transaction searches once, before it commits, and after a turn where one is likely.
//
// A reset undoes the settings that a pool made when it connected, too. Sessions are therefore reset only where the pool
// does nothing then, or its owner says that it may be undone; and only events whose sessions are reset share one.

import { namedFunction, type ServerFunction } from "./postgres-functions.ts";
import type { PostgresPool, PostgresResult } from "./postgres-pool.ts";

interface ObservablePool {
  listenerCount?(event: string): number;
  readonly options?: { readonly verify?: unknown; readonly onConnect?: unknown; readonly Client?: unknown };
}

/** Whether nothing but the server and the options of the connection determines how a session of the pool begins. */
export function beginsPlain(pool: PostgresPool): boolean {
  const { options, listenerCount } = pool as ObservablePool;
  if (!options || !listenerCount) return false;
  const changes = options.verify ?? options.onConnect ?? options.Client;
  return changes === undefined && listenerCount.call(pool, "connect") === 0;
}

/** Whether the session has an advisory lock. */
export const hasAdvisoryLock = `EXISTS (SELECT FROM pg_catalog.pg_lock_status() AS held
  WHERE held.locktype = 'advisory' AND held.pid = pg_catalog.pg_backend_pid())`;

/** What `left_over` says of such a lock. */
const advisoryLock = "an advisory lock";

/**
 * Resets the session within a transaction or outside; returns what is left, or null. Its argument says whether to search
 * for advisory locks.
 */
export function resetSessionFunction(schema: string): ServerFunction {
  const definition = `(searches_locks boolean) RETURNS text LANGUAGE plpgsql AS $function$ BEGIN
    RESET ALL;
    EXECUTE 'CLOSE ALL';
    UNLISTEN *;
    DISCARD SEQUENCES;
    PERFORM pg_catalog.pg_advisory_unlock_all();
    IF searches_locks THEN
      IF ${hasAdvisoryLock} THEN RETURN '${advisoryLock}'; END IF;
    END IF;
    IF pg_catalog.current_setting('transaction_read_only') = 'on' THEN RETURN 'a read-only transaction'; END IF;
    IF pg_catalog.pg_my_temp_schema() <> 0 THEN
      IF EXISTS (SELECT FROM pg_catalog.pg_depend
        WHERE refclassid = 'pg_catalog.pg_namespace'::regclass AND refobjid = pg_catalog.pg_my_temp_schema())
      THEN RETURN 'a temporary object'; END IF;
    END IF;
    IF EXISTS (SELECT FROM pg_catalog.pg_prepared_statement() AS prepared WHERE prepared.from_sql)
    THEN RETURN 'a prepared statement'; END IF;
    RETURN NULL; END $function$`;
  return namedFunction(schema, "reset_session", definition);
}

export const resetRole = "RESET SESSION AUTHORIZATION; RESET ROLE";

/** Several statements: the role of a handler may not be allowed to call the function. */
export const resetStatements = ({ call }: ServerFunction) => ({
  /** Returns what is left as `left_over`. Outside a transaction, where no lock is. */
  resetSession: `${resetRole}; SELECT ${call}(false) AS left_over`,
  resetAndSearchLocks: `${resetRole}; SELECT ${call}(true) AS left_over`,
  /** Fails when something is left, with an error that names it. */
  requireReset: `${resetRole}; SELECT CAST(${call}(false) AS integer)`,
  requireResetWithoutLocks: `${resetRole}; SELECT CAST(${call}(true) AS integer)`,
});

const leftOver = (results: PostgresResult | readonly PostgresResult[]) =>
  [results].flat().flatMap(({ rows }) => rows?.[0]?.["left_over"] ?? []);

/** Whether one of the results is that of a reset and says that something is left. */
export const isLeftOver = (results: PostgresResult | readonly PostgresResult[]) =>
  leftOver(results).length > 0;

/** The same, of an advisory lock. */
export const isLockLeft = (results: PostgresResult | readonly PostgresResult[]) =>
  leftOver(results).includes(advisoryLock);
