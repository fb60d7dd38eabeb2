import { setTimeout } from "node:timers/promises";
import { createReceiver } from "@workspace-tasks/receiver-kit";
import { postgresInbox } from "@workspace-tasks/receiver-kit/postgres";
import type { Context } from "aws-lambda";
import pg from "pg";

const reservedMs = 15_000; // for the handlers that run when the time is over: graceMs and a margin

export async function handler(_event: unknown, context: Pick<Context, "getRemainingTimeInMillis">) {
  if (context.getRemainingTimeInMillis() <= reservedMs)
    throw new Error("raise the function's timeout to 60 s");
  const pool = new pg.Pool({ connectionString: process.env["DATABASE_URL"], connectionTimeoutMillis: 5_000 });
  const receiver = createReceiver({
    secrets: [process.env["WORKSPACE_TASKS_SIGNING_SECRET"] ?? ""],
    inbox: postgresInbox(pool),
    concurrency: 4, // the pool has 10 connections, concurrency + 6
    leaseMs: 10_000, // how long events wait after the function was stopped
  });
  receiver.onState("task", async ({ taskId, status }, { transaction }) => {
    await transaction.query(
      `INSERT INTO task_states VALUES ($1, $2)
         ON CONFLICT (task_id) DO UPDATE SET status = excluded.status`,
      [taskId, status],
    );
  });
  try {
    await receiver.start();
    while (context.getRemainingTimeInMillis() > reservedMs) {
      const { running, inbox } = await receiver.stats();
      if (running === 0 && inbox.oldestPendingMs === null) break; // nothing is due
      await setTimeout(100);
    }
  } finally {
    await receiver.close();
    await pool.end();
  }
}
