import "reflect-metadata";
import { DataSource, EntitySchema } from "typeorm";
import { receiver } from "./receiver.ts";

const TaskChange = new EntitySchema<{ id: number; taskId: string; status: string }>({
  name: "TaskChange",
  tableName: "task_changes",
  columns: {
    id: { type: "int", primary: true, generated: "increment" },
    taskId: { type: "text", name: "task_id" },
    status: { type: "text" },
  },
});

const database = new DataSource({
  type: "postgres",
  url: process.env["DATABASE_URL"] ?? "",
  entities: [TaskChange],
});
await database.initialize();

receiver.on("task.*", async ({ taskId, status }, { idempotencyKey }) => {
  await database.transaction(async (manager) => {
    const insert = "INSERT INTO applied_events (id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING id";
    const added: unknown[] = await manager.query(insert, [idempotencyKey]);
    if (added.length > 0) await manager.insert(TaskChange, { taskId, status });
  });
});
