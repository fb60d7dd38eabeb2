// Events from a queue of your own, applied once and in order inside a transaction of your own.

import { expect, it } from "vitest";
import { parseEvent } from "workspace-tasks/events";
import { isReceiverError } from "workspace-tasks/receiver-kit";
import { applyInOrder, createAppliedHeads } from "workspace-tasks/receiver-kit/postgres";
import { completedEvent, sampleEvent } from "../test/support/sample-event.ts";
import { sharedPostgres } from "../test/support/shared-server.ts";
import { describeWithPostgres } from "../test/support/with-postgres.ts";

describeWithPostgres("applyInOrder", () => {
  it("keeps the newest state of a task, whatever the queue repeats or reorders", async () => {
    await using database = await (await sharedPostgres()).database();
    const pool = database.pool();
    await pool.query("CREATE TABLE task_states (task_id text PRIMARY KEY, status text)");
    // #region apply
    await createAppliedHeads(pool); // once, when the program starts

    // Applies one message of the queue. Acknowledge it when this resolves.
    async function apply(message: string): Promise<string> {
      const parsed = parseEvent(JSON.parse(message));
      if (!parsed.ok) throw new Error("not an event");
      const { event } = parsed;
      const client = await pool.connect();
      try {
        await client.query("BEGIN");
        const { outcome } = await applyInOrder(client, event, (transaction) =>
          transaction.query(
            "INSERT INTO task_states VALUES ($1, $2) ON CONFLICT (task_id) DO UPDATE SET status = $2",
            [event["taskId"], event["status"]],
          ),
        );
        await client.query("COMMIT");
        return outcome; // "applied", "duplicate" or "stale"
      } catch (error) {
        await client.query("ROLLBACK");
        if (isReceiverError(error, "TRANSACTION_CONFLICT")) return apply(message);
        throw error; // the queue delivers the message again
      } finally {
        client.release();
      }
    }
    // #endregion
    const running = sampleEvent({ taskId: "task-1", occurredAt: "2026-03-01T09:30:00Z" });
    const completed = completedEvent({ taskId: "task-1", occurredAt: "2026-03-01T09:31:00Z" });
    const outcomes: string[] = [];
    for (const event of [completed, running, completed]) outcomes.push(await apply(JSON.stringify(event)));
    expect(outcomes).toEqual(["applied", "stale", "duplicate"]);
    const { rows } = await pool.query("SELECT * FROM task_states");
    expect(rows).toEqual([{ task_id: "task-1", status: "COMPLETED" }]);
    await pool.end();
  });
});
