// What must hold of the tables of a SQL inbox after every statement.

type Query = (statement: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;

interface Options {
  /** Default: of PostgreSQL, with the default schema. */
  readonly prefix?: string;
  /** Default: the server's clock. */
  readonly nowMs?: number | undefined;
  readonly keyOrder?: "latest" | "strict";
}

/** The keys, rows and deliveries that contradict each other, each with what is wrong. */
export async function wrongCounters(query: Query, options: Options = {}): Promise<readonly unknown[]> {
  const { prefix = "workspace_tasks.", nowMs, keyOrder = "latest" } = options;
  const [deliveries, keys, queue] = ["deliveries", "ordering_keys", "queue"].map((table) => prefix + table);
  const now = nowMs ?? "(extract(epoch FROM clock_timestamp()) * 1000)";
  const rowsOf = `FROM ${queue} AS waiting WHERE waiting.key_id = ordering_key.id`;
  const queued = `(SELECT count(*) ${rowsOf})`;
  const nextDue =
    keyOrder === "latest"
      ? `(SELECT min(due_at) ${rowsOf})`
      : `(SELECT due_at ${rowsOf} ORDER BY position, seq LIMIT 1)`;
  const claimed = prefix.endsWith(".")
    ? "coalesce(cardinality(claimed), 0)"
    : "coalesce(length(claimed) - length(replace(claimed, ',', '')) - 1, 0)";
  // SQLite counts them where they are listed.
  const held = prefix.endsWith(".") ? "held" : claimed;
  const ofKeys: Record<string, string> = {
    "waiting is not the number of its rows": `waiting <> ${queued}`,
    "it has neither a head nor rows": "waiting = 0 AND position IS NULL",
    "it has no rows and does not sleep": "waiting = 0 AND wake_at IS NOT NULL",
    "it has rows and sleeps": "waiting > 0 AND wake_at IS NULL",
    "it oversleeps a row that is due": `worker IS NULL AND wake_at > ${now} AND wake_at > ${nextDue}`,
    "held is not between 0 and waiting": `${held} < 0 OR ${held} > waiting`,
    "it is held without a worker, or the other way round": `(${held} > 0) <> (worker IS NOT NULL)`,
    "claimed has not as many rows as held": `${held} <> ${claimed}`,
    "suspects is not between 0 and waiting": "suspects < 0 OR suspects > waiting",
  };
  const statements = Object.entries(ofKeys).map(
    ([fault, condition]) =>
      `SELECT '${fault}' AS fault, ordering_key.order_key AS name FROM ${keys} AS ordering_key WHERE ${condition}`,
  );
  statements.push(
    `SELECT 'a row without a key' AS fault, CAST(seq AS text) AS name FROM ${queue}
     WHERE key_id NOT IN (SELECT id FROM ${keys})`,
    `SELECT 'a row that is queued twice' AS fault, CAST(seq AS text) AS name FROM ${queue}
     GROUP BY seq HAVING count(*) > 1`,
    `SELECT 'a row that is queued and has ended' AS fault, CAST(seq AS text) AS name FROM ${queue}
     WHERE seq NOT IN (SELECT seq FROM ${deliveries} WHERE outcome IS NULL)`,
  );
  return query(statements.join("\nUNION ALL "));
}
