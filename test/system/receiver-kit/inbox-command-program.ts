// The command `workspace-tasks-inbox`, and `ids <file>`: the ids in a SQLite inbox without damage, one a line.

import Database from "libsql";
import { run } from "../../../receiver-kit/program.ts";

const [name, ...args] = process.argv.slice(2);
if (name === "ids") {
  const database = new Database(String(args[0]), { timeout: 5_000 });
  const check = database.prepare("PRAGMA quick_check(1)").all([]) as { quick_check: string }[];
  if (check[0]?.quick_check !== "ok") throw new Error("the file is damaged");
  const rows = database.prepare("SELECT webhook_id AS id FROM workspace_tasks_deliveries").all([]);
  console.log((rows as { id: string }[]).map(({ id }) => id).join("\n"));
} else await run();
