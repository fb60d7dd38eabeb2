import type Database from "better-sqlite3";
import { drizzle } from "drizzle-orm/better-sqlite3";
import { sqliteTable, text } from "drizzle-orm/sqlite-core";
import { receiver } from "./receiver.ts";

const taskChanges = sqliteTable("task_changes", {
  taskId: text("task_id").notNull(),
  status: text().notNull(),
});

receiver.onState("task", async ({ taskId, status }, { transaction }) => {
  const db = drizzle(await transaction.connection<Database.Database>());
  db.transaction((tx) => {
    tx.insert(taskChanges).values({ taskId, status }).run();
  });
});
