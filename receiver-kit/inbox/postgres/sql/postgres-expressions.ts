// Parts that several statements of the PostgreSQL inbox have.

// `clock_timestamp()` is volatile, which would keep the planner from the indexes on times.
export const now = "coalesce($1::bigint, (extract(epoch FROM statement_timestamp()) * 1000)::bigint)";

/**
 * An acknowledged delivery must survive a crash of the server, and its loss where there are synchronous standbys, even
 * where `synchronous_commit` is off or local for the database; stronger settings stay as they are. It is set for the
 * transaction in each case: the server may load another setting between the statement and its commit.
 */
export const makeDurable = `set_config('synchronous_commit',
      regexp_replace(current_setting('synchronous_commit'), '^(off|local)$', 'on'), true)`;
export const durable = `durable AS MATERIALIZED (SELECT ${makeDurable} AS setting)`;

/**
 * Makes the commit of a statement that writes nothing wait for the synchronous standbys, and so for every commit before
 * it: what it has read may be on the primary only, after a crash of that during its commit.
 */
export const replicated = `replicated AS MATERIALIZED (
    SELECT CASE WHEN current_setting('synchronous_standby_names') <> ''
      THEN pg_logical_emit_message(true, 'workspace_tasks', '')::text ELSE '' END AS lsn)`;

/** Whatever the default of the database is: stricter levels reject what other workers do at the same time. */
export const begin = "BEGIN ISOLATION LEVEL READ COMMITTED";

/** A name without quotes in it, which may be a reserved word. */
export const identifier = (name: string) => `"${name}"`;

/** The source as the index of the keys that wait has it. */
export const wakeSource = "(source || '')";

/** Evaluated before the rest of a statement that has it in a condition: "(SELECT setting FROM limits) IS NOT NULL". */
export const limits = (...settings: readonly string[]) =>
  `limits AS MATERIALIZED (SELECT ${settings.join(" || ")} AS setting)`;
export const isLimited = "(SELECT setting FROM limits) IS NOT NULL";

/**
 * For the rest of the transaction, unless the server or the role has a limit already.
 *
 * @param limitMs an expression
 */
export const limit = (setting: string, limitMs: string) =>
  `CASE WHEN current_setting('${setting}') = '0' THEN set_config('${setting}', (${limitMs})::text, true) ELSE '' END`;

/** The server holds the locks of a claim until it has sent the response; without this, to a dead client for minutes. */
export const limitedSending = `CASE WHEN version() LIKE '%linux%' THEN ${limit("tcp_user_timeout", "5000")} ELSE '' END`;
