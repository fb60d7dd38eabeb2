// Handles a delivery with an inbox in PostgreSQL.
import assert from "node:assert/strict";
import { createReceiver } from "@workspace-tasks/receiver-kit";
import { postgresInbox } from "@workspace-tasks/receiver-kit/postgres";
import pg from "pg";
import { deliver } from "./deliver.mjs";

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, connectionTimeoutMillis: 30_000 });
await pool.query("CREATE TABLE task_states (task_id TEXT PRIMARY KEY, status TEXT NOT NULL)");

const secrets = [];
const receiver = createReceiver({ secrets: () => secrets, inbox: postgresInbox(pool) });
receiver.onState("task", async ({ taskId, status }, { transaction }) => {
  await transaction.query(
    "INSERT INTO task_states VALUES ($1, $2) ON CONFLICT (task_id) DO UPDATE SET status = excluded.status",
    [taskId, status],
  );
});
const taskId = await deliver(secrets, receiver);
const { rows } = await pool.query("SELECT task_id, status FROM task_states");
assert.deepEqual(rows, [{ task_id: taskId, status: "COMPLETED" }]);
await receiver.close();
await pool.end();
