// A SQLite file that the explored processes share, each with a connection of its own. A crash closes the connection, so
// what was not committed is rolled back, as after the end of a process. Syncs are off: a crash of the machine is not
// explored.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SqliteConnection, SqliteTransaction } from "@workspace-tasks/receiver-kit/sqlite";
import { storeOf } from "../../../receiver-kit/inbox/inbox.ts";
import { interceptSqlite } from "../../support/intercept-sqlite.ts";
import type * as Parts from "./explored-parts.ts";
import { type ExploredProcess, type ExploredTimers, startMs } from "./explored-process.ts";
import type { StateWrite, StoreUnderTest } from "./inbox-stores.ts";

export interface SqliteFolder extends Disposable {
  createStore(parts: typeof Parts, time: ExploredTimers): Promise<StoreUnderTest>;
}

/** A folder for the files of an exploration; each run starts with an empty inbox. */
export async function createSqliteFolder(parts: typeof Parts): Promise<SqliteFolder> {
  const folder = mkdtempSync(join(tmpdir(), "workspace-tasks-explorer-"));
  const openFile = await parts.loadSqliteDriver();
  const path = join(folder, "inbox.db");
  const inbox = parts.sqliteInbox({ path, driver: openFile });
  await inbox.open();
  await inbox.close();
  const first = openFile(path);
  first.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
  first.exec(
    "CREATE TABLE effects (name TEXT); CREATE TABLE states (task TEXT, status TEXT, at TEXT, delivery TEXT)",
  );
  // Opening a file costs more than a run, so connections are used again.
  const free = [first];
  const files: OpenFiles = {
    path,
    take: () => free.pop() ?? openFile(path),
    giveBack: (connection) => void free.push(connection),
  };
  return {
    createStore: (usedParts, time) => createStore(usedParts, files, time),
    [Symbol.dispose]() {
      for (const connection of free) connection.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface OpenFiles {
  readonly path: string;
  take(): SqliteConnection;
  giveBack(connection: SqliteConnection): void;
}

const tables = ["deliveries", "bodies", "ordering_keys", "queue", "marks"].map(
  (name) => `workspace_tasks_${name}`,
);

async function createStore(
  parts: typeof Parts,
  files: OpenFiles,
  time: ExploredTimers,
): Promise<StoreUnderTest> {
  const holders = new Map<string, ExploredProcess>();
  const connections = new Map<ExploredProcess, SqliteConnection>();
  const { path } = files;
  const reader = files.take();
  reader.exec(
    `BEGIN; ${[...tables, "effects", "states"].map((name) => `DELETE FROM ${name};`).join(" ")} COMMIT`,
  );
  const reading = storeOf(parts.sqliteInbox({ path, driver: () => ({ ...reader, close() {} }) }));
  await reading.open();
  const read = (statement: string) => reader.queryPrepared(statement);
  const relative = (value: unknown) =>
    value === null || value === 0 ? "-" : Math.max(-1, Number(value) - startMs - time.nowMs);
  const keys = () => read("SELECT * FROM workspace_tasks_ordering_keys");

  return {
    quietTurns: 8,
    connect(process) {
      const connect = () => {
        const connection = mortal(files, process);
        connections.set(process, connection);
        return connection;
      };
      return storeOf<unknown>(parts.sqliteInbox({ path, driver: connect, clock: process.clock }));
    },
    async crash(process) {
      const connection = connections.get(process);
      connections.delete(process);
      (connection as Mortal | undefined)?.die();
    },
    claimed(process, claims) {
      for (const { lease } of claims) holders.set(lease.worker, process);
    },
    heldBy(process) {
      const held = keys().filter(({ worker }) => worker !== null && holders.get(String(worker)) === process);
      const lock = connections.get(process)?.isInTransaction() ? "has the lock" : "";
      return `${held.map((key) => String(key["order_key"])).sort()} ${lock}`;
    },
    leaseText({ keyId, generation }) {
      const key = keys().find(({ id }) => id === keyId);
      return key ? `${String(key["order_key"])} ${Number(key["generation"]) - generation}` : "ended";
    },
    fingerprint() {
      const deliveries = read(
        "SELECT webhook_id, outcome, attempts, replays FROM workspace_tasks_deliveries ORDER BY 1",
      );
      const queue = read(
        "SELECT webhook_id, queue.due_at, queue.attempts FROM workspace_tasks_queue AS queue JOIN workspace_tasks_deliveries USING (seq) ORDER BY 1",
      ).map((row) => `${String(row["webhook_id"])} ${relative(row["due_at"])} ${String(row["attempts"])}`);
      const ids = new Map(
        read("SELECT seq, webhook_id FROM workspace_tasks_deliveries").map((row) => [
          String(row["seq"]),
          row["webhook_id"],
        ]),
      );
      const keyTexts = keys().map((key) => {
        const isHeld = key["worker"] !== null;
        const leased = isHeld ? relative(key["leased_at"]) : "";
        const claimed = String(key["claimed"] ?? "")
          .split(",")
          .filter(Boolean);
        return `${key["order_key"]} ${isHeld} ${relative(key["wake_at"])} ${leased} ${claimed.map((seq) => ids.get(seq))} ${key["suspects"]} ${key["waiting"]} ${key["position"]}`;
      });
      return JSON.stringify([deliveries, queue, keyTexts.sort()]);
    },
    rows: () => reading.list({ limit: 100 }),
    async writeEffect(transaction, _, id) {
      await (transaction as SqliteTransaction).query("INSERT INTO effects VALUES (?)", [id]);
    },
    async writeState(transaction, _, { taskId, status, occurredAt, deliveryId }) {
      const values = [taskId, status, occurredAt, deliveryId];
      await (transaction as SqliteTransaction).query("INSERT INTO states VALUES (?, ?, ?, ?)", values);
    },
    readEffects: () => ({
      effects: read("SELECT name FROM effects ORDER BY rowid").map(({ name }) => String(name)),
      states: read("SELECT * FROM states ORDER BY rowid").map(
        ({ task, status, at, delivery }): StateWrite => ({
          ...{ taskId: String(task), status: String(status) },
          ...{ occurredAt: String(at), deliveryId: String(delivery) },
        }),
      ),
    }),
    dispose() {
      for (const connection of connections.values()) (connection as Mortal).die();
      files.giveBack(reader);
    },
  };
}

interface Mortal extends SqliteConnection {
  die(): void;
}

/** A connection whose process may end. libsql ends this process when a closed connection is used. */
function mortal(files: OpenFiles, process: ExploredProcess): Mortal {
  const inner = files.take();
  let isOpen = true;
  const isInTransaction = () => isOpen && inner.isInTransaction();
  const use = <Result>(run: () => Result): Result => {
    if (!isOpen || process.state === "dead") throw new Error("the process has ended");
    return run();
  };
  const end = () => {
    if (!isOpen) return;
    isOpen = false;
    try {
      inner.exec("ROLLBACK");
    } catch {
      // No transaction is open.
    }
    files.giveBack(inner);
  };
  return { ...interceptSqlite(inner, (_, call) => use(call)), die: end, close: end, isInTransaction };
}
