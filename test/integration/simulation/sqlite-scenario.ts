import { type SqliteTransaction, sqliteInbox } from "@workspace-tasks/receiver-kit/sqlite";
import { type InboxStore, storeOf } from "../../../receiver-kit/inbox/inbox.ts";
import { loadSqliteDriver } from "../../../receiver-kit/inbox/sqlite/sqlite-driver.ts";
import { type AroundStatement, interceptSqlite } from "../../support/intercept-sqlite.ts";
import { createFixtureClock } from "../../support/receiver-fixture.ts";
import type { Calls } from "./failure-sweep.ts";
import { runReceiverScenario } from "./receiver-scenario.ts";

export type ChangeInbox = (inbox: InboxStore<SqliteTransaction>) => InboxStore<SqliteTransaction>;

/**
 * Runs the receiver scenario on a new SQLite file.
 *
 * @param calls the statements of the receiver's inbox
 */
export async function runOnSqlite(
  path: string,
  calls: Calls,
  change: ChangeInbox = (inbox) => inbox,
): Promise<void> {
  const openFile = await loadSqliteDriver();
  const around: AroundStatement = (statement, call) => calls.through(kindOf(statement), call);
  const clock = createFixtureClock();
  const setUp = openFile(path);
  setUp.exec("PRAGMA synchronous = OFF; CREATE TABLE effects (name TEXT)");
  const driver = () => interceptSqlite(openFile(path), (_, call) => call());
  const rows = storeOf(sqliteInbox({ path, driver, clock }));
  await rows.open();
  try {
    await runReceiverScenario<SqliteTransaction>({
      clock,
      rows,
      write: async ({ query }, name) => void (await query("INSERT INTO effects (name) VALUES (?)", [name])),
      inbox: change(
        storeOf(sqliteInbox({ path, driver: () => interceptSqlite(openFile(path), around), clock })),
      ),
      committed: async () => setUp.query("SELECT name FROM effects").map(({ name }) => String(name)),
    });
  } finally {
    setUp.close();
    await rows.close();
  }
}

const kindOf = (statement: string) => statement.trim().split(/\s+/).slice(0, 2).join(" ");
