// SQL of a handler that ends the transaction of its event, in any of its writes, while the handler catches every error.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SqliteTransaction } from "workspace-tasks/receiver-kit/sqlite";
import { runOnSqlite, type SqliteScenario, writeEffect } from "./sqlite-scenario.ts";

type Ending = (transaction: SqliteTransaction) => Promise<unknown>;

const onConnection =
  (...statements: string[]): Ending =>
  async (transaction) => {
    const native = (await transaction.connection()) as { exec(statement: string): void };
    const [last, ...others] = statements.toReversed();
    for (const statement of others.toReversed()) native.exec(statement);
    try {
      native.exec(last ?? "");
    } finally {
      native.exec("PRAGMA max_page_count = 1000000");
    }
  };

const guarded = "CREATE TABLE guarded (name TEXT UNIQUE); INSERT INTO guarded VALUES ('taken')";

export const endings: readonly (readonly [name: string, ending: Ending])[] = [
  ["COMMIT", ({ query }) => query("COMMIT")],
  ["INSERT OR ROLLBACK", onConnection(guarded, "INSERT OR ROLLBACK INTO guarded VALUES ('taken')")],
  [
    "a full disk",
    onConnection(
      "CREATE TABLE large (bytes BLOB); PRAGMA max_page_count = 1",
      "INSERT INTO large VALUES (zeroblob(1000000))",
    ),
  ],
  ["ROLLBACK on the connection", onConnection("ROLLBACK")],
  ["ROLLBACK and BEGIN on the connection", onConnection("ROLLBACK; BEGIN")],
];

/**
 * Runs the scenario once for each write of its handlers, with the ending before that write and after it. Rejects when an
 * event is lost or applied twice.
 *
 * @returns how many writes there are
 */
export async function endEachWrite(
  ending: Ending,
  createInbox?: SqliteScenario["createInbox"],
): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), "workspace-tasks-sql-"));
  try {
    return await endEachWriteIn(directory, ending, createInbox);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function endEachWriteIn(
  directory: string,
  ending: Ending,
  createInbox: SqliteScenario["createInbox"],
): Promise<number> {
  let files = 0;
  const run = async (write: NonNullable<SqliteScenario["write"]>) =>
    runOnSqlite(join(directory, `${files++}.db`), { write, ...(createInbox && { createInbox }) });
  let writes = 0;
  await run((transaction, name) => {
    writes += 1;
    return writeEffect(transaction, name);
  });
  for (let at = 1; at <= writes; at++) {
    for (const isFirst of [true, false]) {
      let write = 0;
      await run(async (transaction, name) => {
        write += 1;
        if (write !== at) return writeEffect(transaction, name);
        if (isFirst) await ending(transaction).catch(() => {});
        await writeEffect(transaction, name).catch(() => {});
        if (!isFirst) await ending(transaction).catch(() => {});
      }).catch((cause: unknown) => {
        throw new Error(`ended ${isFirst ? "before" : "after"} write ${at}: ${String(cause)}`, { cause });
      });
    }
  }
  return writes;
}
