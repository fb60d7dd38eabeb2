// Parts that several statements of the PostgreSQL inbox have.

// `clock_timestamp()` is volatile, which would keep the planner from the indexes on times.
export const now = "coalesce($1::bigint, (extract(epoch FROM statement_timestamp()) * 1000)::bigint)";

/**
 * An acknowledged delivery must survive a crash of the server even where `synchronous_commit` is off for the database;
 * stronger settings stay as they are.
 */
export const durable = `durable AS MATERIALIZED (
    SELECT CASE WHEN current_setting('synchronous_commit') = 'off'
      THEN set_config('synchronous_commit', 'on', true) ELSE '' END AS setting)`;

/** The source as the index of the keys that wait has it. */
export const wakeSource = "(source || '')";

/** Evaluated before the rest of a statement that has it in a condition: "(SELECT setting FROM limits) IS NOT NULL". */
export const limits = (...settings: readonly string[]) =>
  `limits AS MATERIALIZED (SELECT ${settings.join(" || ")} AS setting)`;
export const isLimited = "(SELECT setting FROM limits) IS NOT NULL";

/** For the rest of the transaction, unless the server or the role has a limit already. */
export const limit = (setting: string, limitMs: number) =>
  `CASE WHEN current_setting('${setting}') = '0' THEN set_config('${setting}', '${limitMs}', true) ELSE '' END`;

/** The server holds the locks of a claim until it has sent the response; without this, to a dead client for minutes. */
export const limitedSending = `CASE WHEN version() LIKE '%linux%' THEN ${limit("tcp_user_timeout", 5_000)} ELSE '' END`;
