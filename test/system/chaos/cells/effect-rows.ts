import type { Effect } from "../chaos-cell.ts";

type Query = (statement: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;

/** What the handlers wrote to the tables of `receiverTables`. */
export async function readEffects(query: Query): Promise<readonly Effect[]> {
  const rows = await query("SELECT webhook_id, task, occurred_at, stale, began, ended FROM effects");
  return rows.map((row) => ({
    id: String(row["webhook_id"]),
    task: String(row["task"]),
    occurredAt: String(row["occurred_at"]),
    isStale: row["stale"] === "true",
    beganMicros: Number(row["began"]),
    atMicros: Number(row["ended"]),
  }));
}

export async function readStates(query: Query): Promise<ReadonlyMap<string, string>> {
  const rows = await query("SELECT task, status FROM task_states");
  return new Map(rows.map((row) => [String(row["task"]), String(row["status"])]));
}
