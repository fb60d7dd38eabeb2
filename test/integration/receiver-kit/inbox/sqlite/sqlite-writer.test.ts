import { createVirtualClock } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import type { SqliteConnection } from "../../../../../receiver-kit/inbox/sqlite/sqlite-driver.ts";
import { SqliteWriter } from "../../../../../receiver-kit/inbox/sqlite/sqlite-writer.ts";

const sqliteError = (code: string) => Object.assign(new Error(code.toLowerCase()), { code });

/** A writer on connections that only record what they execute; `failWith` decides which statement fails. */
function recordingWriter({ busyTimeoutMs = 5_000 } = {}) {
  const clock = createVirtualClock(0);
  const log: string[] = [];
  const faults = {
    failWith: (_: string): Error | undefined => undefined,
    afterCommit(): void {},
  };
  let connections = 0;
  let isOpen = false;
  const connect = (): SqliteConnection => {
    connections += 1;
    const name = connections;
    const run = (sql: string) => {
      log.push(sql);
      const error = faults.failWith(sql);
      if (error) throw error;
      if (/^(BEGIN IMMEDIATE|COMMIT|ROLLBACK)$/.test(sql)) isOpen = sql.startsWith("BEGIN");
      return [];
    };
    return {
      exec: (sql) => void run(sql),
      query: run,
      rowsPrepared: () => [],
      firstPrepared: () => undefined,
      insertPrepared: (sql) => run(sql).length,
      changePrepared: (sql) => run(sql).length,
      isInTransaction: () => isOpen,
      close: () => void log.push(`close ${name}`),
      native: undefined,
    };
  };
  const writer = new SqliteWriter({
    connect,
    commit: (connection) => {
      connection.exec("COMMIT");
      faults.afterCommit();
    },
    disconnect: (connection) => connection.close(),
    checkpoint: (connection) => void connection.query("PRAGMA wal_checkpoint(TRUNCATE)"),
    explain: (error) => error,
    begin: (connection) => connection.exec("BEGIN IMMEDIATE"),
    clock,
    busyTimeoutMs,
  });
  const statement = (sql: string) => (connection: SqliteConnection) => {
    connection.exec(sql);
    return sql;
  };
  return { writer, clock, log, faults, statement };
}

/** Lets the writer's next pass happen. */
async function nextPass(): Promise<void> {
  for (let turn = 0; turn < 8; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}

describe("SqliteWriter", () => {
  it("repeats a failed commit operation by operation, so that one bad operation fails alone", async () => {
    const { writer, log, faults, statement } = recordingWriter();
    faults.failWith = (sql) => (sql === "bad" ? new Error("constraint") : undefined);
    const outcomes = await Promise.allSettled(["a", "bad", "b"].map((sql) => writer.write(statement(sql))));
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(log.filter((sql) => /^(a|bad|b|COMMIT|ROLLBACK)$/.test(sql))).toEqual([
      ...["a", "bad", "ROLLBACK"],
      ...["a", "COMMIT", "bad", "ROLLBACK", "b", "COMMIT"],
    ]);
  });

  it("lets nothing else run between the begin and the end of an exclusive transaction", async () => {
    const { writer, log, statement } = recordingWriter();
    const transaction = await writer.begin({ timeoutMs: 1_000, isAlone: true });
    const insert = writer.write(statement("insert"));
    await nextPass();
    transaction.connection().exec("update");
    await transaction.commit(() => {});
    await insert;
    expect(log).toEqual([
      ...["BEGIN IMMEDIATE", "SAVEPOINT workspace_tasks_turn", "update", "RELEASE workspace_tasks_turn"],
      ...["COMMIT", "BEGIN IMMEDIATE", "insert", "COMMIT"],
    ]);
  });

  it("rolls an exclusive transaction back at its time limit and continues with the queue", async () => {
    const { writer, clock, log, statement } = recordingWriter();
    const transaction = await writer.begin({ timeoutMs: 1_000, isAlone: true });
    const insert = writer.write(statement("insert"));
    await clock.advance(1_100);
    await insert;
    const committed = [...log];
    expect(committed.slice(2)).toEqual([
      ...["ROLLBACK TO workspace_tasks_turn", "RELEASE workspace_tasks_turn", "COMMIT"],
      ...["BEGIN IMMEDIATE", "insert", "COMMIT"],
    ]);
    expect(() => transaction.connection()).toThrow(
      "the transaction was open for 1000 ms (transactionTimeoutMs, at most handlerTimeoutMs) and was rolled back",
    );
    await expect(transaction.commit(() => {})).rejects.toMatchObject({ code: "TRANSACTION_ENDED" });
    expect(log).toEqual(committed);
  });

  it("leaves the lock free for a moment when exclusive transactions follow each other without end", async () => {
    const { writer, clock, log } = recordingWriter();
    const hold = async () => {
      const transaction = await writer.begin({ timeoutMs: 1_000, isAlone: true });
      await clock.advance(50);
      await transaction.commit(() => {});
      return clock.monotonic();
    };
    const ended: number[] = [];
    for (let n = 0; n < 4; n++) ended.push(await hold());
    const next = writer.begin({ timeoutMs: 1_000, isAlone: true });
    await nextPass();
    expect(log.filter((sql) => sql === "BEGIN IMMEDIATE")).toHaveLength(4);
    await clock.advance(12);
    await next;
    expect(ended).toEqual([50, 100, 150, 200]);
  });

  it("retries every 5 ms while another process has the write lock", async () => {
    const { writer, clock, log, faults, statement } = recordingWriter();
    let attempts = 0;
    faults.failWith = (sql) =>
      sql === "BEGIN IMMEDIATE" && ++attempts < 4 ? sqliteError("SQLITE_BUSY") : undefined;
    const insert = writer.write(statement("insert"));
    await nextPass();
    await clock.advance(10);
    expect(log).toEqual(["BEGIN IMMEDIATE", "BEGIN IMMEDIATE", "BEGIN IMMEDIATE"]);
    await clock.advance(5);
    expect(await insert).toBe("insert");
  });

  it("rejects everything queued once the write lock was busy for busyTimeoutMs", async () => {
    const { writer, clock, faults, statement } = recordingWriter({ busyTimeoutMs: 100 });
    faults.failWith = (sql) => (sql === "BEGIN IMMEDIATE" ? sqliteError("SQLITE_BUSY_SNAPSHOT") : undefined);
    const queued = [writer.write(statement("insert")), writer.begin({ timeoutMs: 1_000, isAlone: true })].map(
      (pending) =>
        pending.then(
          () => "done",
          (error: { code?: string }) => error.code,
        ),
    );
    await nextPass();
    await clock.advance(100);
    expect(await Promise.all(queued)).toEqual(["INBOX_UNAVAILABLE", "INBOX_UNAVAILABLE"]);
    expect(clock.pending().timers).toBe(0);
  });

  it.each(["SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_IOERR_READ", "SQLITE_NOTADB", "SQLITE_CORRUPT"])(
    "closes a connection that failed with %s, and opens another for the next operation",
    async (code) => {
      const { writer, log, faults, statement } = recordingWriter();
      faults.failWith = (sql) => (sql === "insert 1" ? sqliteError(code) : undefined);
      await expect(writer.write(statement("insert 1"))).rejects.toMatchObject({ code });
      expect(log.at(-1)).toBe("close 1");
      expect(await writer.write(statement("insert 2"))).toBe("insert 2");
      await writer.close();
      expect(log.at(-1)).toBe("close 2");
    },
  );

  it("closes a connection whose rollback failed, because its transaction may still be open", async () => {
    const { writer, log, faults, statement } = recordingWriter();
    faults.failWith = (sql) => (sql === "bad" || sql === "ROLLBACK" ? new Error("failed") : undefined);
    await expect(writer.write(statement("bad"))).rejects.toThrow("failed");
    expect(log).toContain("close 1");
  });

  it("closes after everything queued is written, and opens again when it is used again", async () => {
    const { writer, log, statement } = recordingWriter();
    const insert = writer.write(statement("insert"));
    await writer.read(statement("select"));
    await writer.close();
    expect(await insert).toBe("insert");
    expect(log.indexOf("close 1")).toBeGreaterThan(log.indexOf("insert"));
    expect(await writer.write(statement("insert 2"))).toBe("insert 2");
  });
});
