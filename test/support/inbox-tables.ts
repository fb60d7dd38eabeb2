// What must hold of the tables of a SQL inbox after every statement.

type Query = (statement: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;

interface Options {
  readonly database: "postgres" | "sqlite";
  /** Of PostgreSQL. Default: the default schema. */
  readonly schema?: string;
  /** Default: the server's clock. */
  readonly nowMs?: number | undefined;
}

const claimedCount = "coalesce(length(claimed) - length(replace(claimed, ',', '')) - 1, 0)";

/** The keys, rows, bodies and deliveries that contradict each other, each with what is wrong. */
export async function wrongTables(query: Query, options: Options): Promise<readonly unknown[]> {
  const { database, schema = "workspace_tasks", nowMs } = options;
  const prefix = database === "postgres" ? `${schema}.` : "workspace_tasks_";
  const [deliveries, bodies, keys, queue] = ["deliveries", "bodies", "ordering_keys", "queue"].map(
    (table) => prefix + table,
  );
  const now = nowMs ?? "(extract(epoch FROM clock_timestamp()) * 1000)";
  const rowsOf = `FROM ${queue} AS waiting_row WHERE waiting_row.key_id = ordering_key.id`;
  // In strict order; in the other one a key does not sleep longer either.
  const nextDue = `(SELECT due_at ${rowsOf} ORDER BY position, seq LIMIT 1)`;
  const ofPostgres = {
    "it is idle although it has rows, or the other way round": "(idle_since IS NOT NULL) <> (waiting = 0)",
    "no row is claimed": "claimed = '{}'",
    "a claimed row does not wait": `NOT claimed <@ ARRAY(SELECT seq ${rowsOf})`,
  };
  const ofSqlite = {
    "more rows are claimed than wait": `${claimedCount} > waiting`,
    "suspects is not between 0 and waiting": "suspects < 0 OR suspects > waiting",
  };
  const ofKeys: Readonly<Record<string, string>> = {
    "waiting is not the number of its rows": `waiting <> (SELECT count(*) ${rowsOf})`,
    "it has neither a head nor rows": "waiting = 0 AND head IS NULL",
    "it has no rows and does not sleep": "waiting = 0 AND wake_at IS NOT NULL",
    "it has rows and sleeps": "waiting > 0 AND wake_at IS NULL",
    "it oversleeps a row that is due": `worker IS NULL AND wake_at > ${now} AND wake_at > ${nextDue}`,
    "it is claimed without a worker, or the other way round": "(claimed IS NOT NULL) <> (worker IS NOT NULL)",
    "a head has no time": "(head IS NOT NULL) <> (moved_at IS NOT NULL)",
    ...(database === "postgres" ? ofPostgres : ofSqlite),
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
    `SELECT 'a body without a delivery' AS fault, CAST(seq AS text) AS name FROM ${bodies}
     WHERE seq NOT IN (SELECT seq FROM ${deliveries})`,
  );
  return query(statements.join("\nUNION ALL "));
}
