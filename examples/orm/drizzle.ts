import { drizzle } from "drizzle-orm/node-postgres";
import { pgTable, text } from "drizzle-orm/pg-core";
import type { PoolClient } from "pg";
import { receiver } from "./receiver.ts";

const taskChanges = pgTable("task_changes", { taskId: text("task_id").notNull(), status: text().notNull() });

receiver.onState("task", async ({ taskId, status }, { transaction }) => {
  const db = drizzle(await transaction.client<PoolClient>());
  await db.transaction(async (tx) => {
    await tx.insert(taskChanges).values({ taskId, status });
  });
});
