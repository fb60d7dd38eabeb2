import { Kysely, PostgresDialect } from "kysely";
import type { PoolClient } from "pg";
import { receiver } from "./receiver.ts";

interface Tables {
  task_changes: { task_id: string; status: string };
}

receiver.onState("task", async ({ taskId, status }, { transaction }) => {
  const pool = { connect: () => transaction.client<PoolClient>(), end: async () => {}, options: {} };
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  await db.transaction().execute(async (tx) => {
    await tx.insertInto("task_changes").values({ task_id: taskId, status }).execute();
  });
});
