import * as s from "@workspace-tasks/kernel/schema.ts";
import { WorkspaceTasksError } from "../../errors.ts";
import { type PostgresTableOptions, postgresTable } from "../../postgres-table.ts";
import { type ImportJournal, journalError, type OpenJournal } from "./import-journal.ts";

/** The method of pg's pool that the journal uses. */
export interface PostgresClientPool {
  connect(): Promise<PostgresPoolClient>;
}

export interface PostgresPoolClient {
  query(config: {
    readonly text: string;
    readonly values?: unknown[];
    readonly query_timeout: number;
  }): Promise<{ readonly rows: readonly unknown[] }>;
  on(event: "error", listener: (error: Error) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
  release(destroy?: boolean): void;
}

// Below the limit of the import for a journal, whose error says less.
const queryTimeoutMs = 20_000;
const lockTimeoutMs = 10_000;
const columns = "journal text, line bigint, entry text not null, primary key (journal, line)";
// Any role can take an advisory lock; two numbers are its name.
const lockName = "hashtext('workspace-tasks import journal'), hashtext($1)";

const statementsOf = (table: string) => ({
  lock: `select pg_try_advisory_lock(${lockName}) as is_locked`,
  holder: `select activity.pid, application_name, client_addr::text from pg_locks
    left join pg_stat_activity as activity using (pid)
    where locktype = 'advisory' and granted and (classid, objid) = (
      (hashtext('workspace-tasks import journal')::bigint & 4294967295)::oid, (hashtext($1)::bigint & 4294967295)::oid)`,
  read: `select line::float8, entry from ${table} where journal = $1 and line > $2 order by line limit 1000`,
  append: `insert into ${table} (journal, line, entry)
    select $1, $2::bigint + number, entry from unnest($3::text[]) with ordinality as new(entry, number)`,
  unlock: `select pg_advisory_unlock(${lockName})`,
});

const poolArgument = s.objectWith<PostgresClientPool>("a pool with connect", "connect");
const poolClient = s.objectWith<PostgresPoolClient>(
  "a client of a pool",
  ...(["query", "on", "off", "release"] as const),
);

/**
 * A journal in PostgreSQL 10 or newer, for imports that continue on another computer. Takes a pool of the package `pg` and a
 * name, of which there is one journal.
 *
 * Creates the schema and in it the table `import_journal` on first use; what another role owns is not used
 * (`CONFIGURATION_INVALID`). It holds one client of the pool, with an advisory lock,
 * until the import ends: a connection that is lost ends the import, and the next process can continue. A pooler must not
 * give the connection to others (`pool_mode=session` of PgBouncer). The pool stays yours. A query takes 20 s at most.
 * Errors: `CONFIGURATION_INVALID`, thrown at once; of the import, `JOURNAL_IN_USE`, `JOURNAL_DAMAGED`, `JOURNAL_FAILED`.
 */
export function postgresJournal(
  pool: PostgresClientPool,
  name: string,
  options: PostgresTableOptions = {},
): ImportJournal {
  const invalid = (argument: string) => (error: s.ValidationError) =>
    new WorkspaceTasksError("CONFIGURATION_INVALID", `postgresJournal: ${argument}: ${error.message}`);
  s.parse(poolArgument, pool, invalid("pool"));
  s.parse(s.nonBlankString, name, invalid("name"));
  const table = postgresTable("postgresJournal", "import_journal", columns, options, lockTimeoutMs);
  const sql = statementsOf(table.name);

  async function open(client: PostgresPoolClient): Promise<OpenJournal> {
    let lines = 0;
    let lost: Error | undefined;
    // Without a listener the loss of an idle connection ends the process.
    const onLost = (error: Error) => {
      lost = error;
    };
    client.on("error", onLost);

    async function query(text: string, values?: unknown[]): Promise<readonly Record<string, unknown>[]> {
      if (lost) throw lost;
      const { rows } = await client.query({ text, ...(values && { values }), query_timeout: queryTimeoutMs });
      return rows as readonly Record<string, unknown>[];
    }

    /** The connection is destroyed unless its lock is certainly released. */
    async function close(): Promise<void> {
      const isUnlocked = await query(sql.unlock, [name]).then(
        () => true,
        () => false,
      );
      client.release(!isUnlocked);
      // The pool has its own listener now.
      client.off("error", onLost);
    }

    async function describeHolder(): Promise<string> {
      const [holder] = await query(sql.holder, [name]);
      const { pid, application_name: program, client_addr: address } = holder ?? {};
      return `the PostgreSQL connection ${pid ?? "of another process"} (${program || "no name"}, ${address ?? "local"}) uses ${name}`;
    }

    try {
      const [row] = await query(sql.lock, [name]);
      if (row?.["is_locked"] !== true) throw journalError("JOURNAL_IN_USE", await describeHolder());
      await table.prepare(query);
    } catch (error) {
      await close();
      throw error;
    }
    return {
      async *read() {
        for (let page = [{}]; page.length > 0; ) {
          page = [...(await query(sql.read, [name, lines]))];
          for (const { line, entry } of page as readonly Record<string, unknown>[]) {
            lines += 1;
            const problem = () =>
              `${name}: expected line ${lines}, got line ${String(line)}; restore the table`;
            if (line !== lines) throw journalError("JOURNAL_DAMAGED", problem());
            yield String(entry);
          }
        }
      },
      async append(entries) {
        await query(sql.append, [name, lines, entries]);
        lines += entries.length;
      },
      close,
    };
  }

  // A `Client` of pg has the method too, which returns nothing.
  return { open: async () => open(poolClient(await pool.connect(), "pool.connect()")) };
}
