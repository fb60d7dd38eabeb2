// Handles a delivery with an inbox in SQLite; the driver is the argument.
import assert from "node:assert/strict";
import { createReceiver } from "@workspace-tasks/receiver-kit";
import { sqliteInbox } from "@workspace-tasks/receiver-kit/sqlite";
import { deliver } from "./deliver.mjs";

const [, , driver] = process.argv;
const file = `${driver}.db`;
const { default: Database } = await import(driver);
const database = new Database(file);
database.exec("CREATE TABLE task_states (task_id TEXT PRIMARY KEY, status TEXT NOT NULL)");

const secrets = [];
const receiver = createReceiver({ secrets: () => secrets, inbox: sqliteInbox({ path: file, driver }) });
receiver.onState("task", async ({ taskId, status }, { transaction }) => {
  await transaction.query("INSERT OR REPLACE INTO task_states VALUES (?, ?)", [taskId, status]);
});
const taskId = await deliver(secrets, receiver);
const rows = database.prepare("SELECT task_id, status FROM task_states").all();
assert.deepEqual(
  rows.map((row) => [row.task_id, row.status]),
  [[taskId, "COMPLETED"]],
);
await receiver.close();
database.close();
