import {
  type SqliteConnection,
  type SqliteTransaction,
  sqliteInbox,
} from "workspace-tasks/receiver-kit/sqlite";
import { loadSqliteDriver } from "../../receiver-kit/inbox/sqlite/sqlite-driver.ts";
import { createFixtureClock } from "../support/receiver-fixture.ts";
import { type Calls, countCalls } from "./failure-sweep.ts";
import { runReceiverScenario, type ScenarioOptions } from "./receiver-scenario.ts";

export interface SqliteScenario {
  /** The statements of the receiver's inbox. Default: none fails. */
  readonly calls?: Calls;
  /** Default: the product's. */
  readonly createInbox?: typeof sqliteInbox;
  readonly write?: ScenarioOptions<SqliteTransaction>["write"];
}

export const writeEffect: ScenarioOptions<SqliteTransaction>["write"] = async ({ query }, name) =>
  void (await query("INSERT INTO effects (name) VALUES (?)", [name]));

/** Runs the receiver scenario on a new SQLite file. */
export async function runOnSqlite(path: string, scenario: SqliteScenario): Promise<void> {
  const { calls = countCalls(), createInbox = sqliteInbox, write = writeEffect } = scenario;
  const openFile = await loadSqliteDriver();
  const clock = createFixtureClock();
  const setUp = openFile(path);
  setUp.exec("PRAGMA synchronous = OFF; CREATE TABLE effects (name TEXT)");
  const rows = sqliteInbox({ path, driver: () => failingConnection(openFile(path), countCalls()), clock });
  await rows.open();
  try {
    await runReceiverScenario<SqliteTransaction>({
      ...{ clock, rows, write },
      inbox: createInbox({ path, driver: () => failingConnection(openFile(path), calls), clock }),
      committed: async () => setUp.query("SELECT name FROM effects").map(({ name }) => String(name)),
    });
  } finally {
    setUp.close();
    await rows.close();
  }
}

function failingConnection(inner: SqliteConnection, { throughNow }: Calls): SqliteConnection {
  const kindOf = (statement: string) => statement.trim().split(/\s+/).slice(0, 2).join(" ");
  return {
    native: inner.native,
    isInTransaction: () => inner.isInTransaction(),
    close: () => inner.close(),
    exec: (statement) => throughNow(kindOf(statement), () => inner.exec(statement)),
    query: (statement, values) =>
      throughNow(kindOf(statement), () => inner.query(withoutSync(statement), values)),
    queryPrepared: (statement, values) =>
      throughNow(kindOf(statement), () => inner.queryPrepared(statement, values)),
    firstPrepared: (statement, values) =>
      throughNow(kindOf(statement), () => inner.firstPrepared(statement, values)),
    insertPrepared: (statement, values) =>
      throughNow(kindOf(statement), () => inner.insertPrepared(statement, values)),
    changePrepared: (statement, values) =>
      throughNow(kindOf(statement), () => inner.changePrepared(statement, values)),
  };
}

/** No power failure is tested here, so hundreds of runs do not wait for the disk. */
const withoutSync = (statement: string) => statement.replace("synchronous = FULL", "synchronous = OFF");
