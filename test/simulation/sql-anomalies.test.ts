// SQL of a handler that ends the transaction of its event, in any of its writes, while the handler catches every error.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type * as SqliteKit from "workspace-tasks/receiver-kit/sqlite";
import type { SqliteTransaction } from "workspace-tasks/receiver-kit/sqlite";
import { importPatched } from "./patched-product.ts";
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

const endings: readonly (readonly [name: string, ending: Ending])[] = [
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

let directory: string;
let files = 0;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "workspace-tasks-sql-"));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Runs the scenario once for each write of its handlers, with the ending before that write and after it. */
async function endEachWrite(ending: Ending, createInbox?: SqliteScenario["createInbox"]): Promise<number> {
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

it.each(endings)(
  "a receiver loses no event and applies none twice when %s ends the transaction of any write",
  async (_, ending) => {
    expect(await endEachWrite(ending)).toBeGreaterThan(5);
  },
  60_000,
);

it("a SQLite inbox that does not notice the end of a transaction is detected", async () => {
  using mutant = await importPatched<typeof SqliteKit>(
    "receiver-kit",
    {
      name: "transaction-unchecked",
      patches: [
        { find: "if (!ended && !connection.isInTransaction())", replace: "if (ended === null)" },
        {
          find: "if (!this.#failure && !this.#connection?.isInTransaction())",
          replace: "if (this.#failure === null)",
        },
        {
          find: "this.#isBroken = true;\n    }\n    return !this.#isBroken;",
          replace: "void 0;\n    }\n    return !this.#isBroken;",
        },
        {
          find: "if (keyword) return fail(controlRejected(keyword));",
          replace: "void [keyword, controlRejected];",
        },
        {
          find: "const concerns = concernsConnection(statement);",
          replace: "const concerns = keyword === undefined && concernsConnection(statement);",
        },
        { find: "if (hasMarker) releaseMarker(transaction);", replace: "void releaseMarker;" },
      ],
    },
    "sqlite.ts",
  );
  for (const [name, ending] of endings) {
    const broken = endEachWrite(ending, mutant.module.sqliteInbox);
    await expect(broken, name).rejects.toThrow(/^ended (before|after) write \d+/);
  }
}, 60_000);
