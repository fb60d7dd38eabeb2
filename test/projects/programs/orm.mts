// A recipe for an ORM, and what becomes of its write when the attempt fails behind it, and when the process is killed there.
//   node orm.mjs create       the tables
//   node orm.mjs break <id>   stores an event; its first attempt fails behind the recipe, at the second the process is killed
//   node orm.mjs end <id>     handles it again, and prints how often it was written
import { createHmac } from "node:crypto";
import { receiver } from "./receiver.ts";
import { create, rowsOf } from "./rows.ts";

const [, , step, id = ""] = process.argv;

if (step === "create") {
  await create();
  process.exit();
}
await import(process.env["RECIPE"] ?? "./handler.js");
// Handlers of an event run one after the other: this one behind that of the recipe.
receiver.on("*", async (_event, { attempt }) => {
  console.log(`${id}: attempt ${attempt}`);
  if (step === "end") return;
  if (attempt === 1) throw new Error("behind the recipe");
  process.kill(process.pid, "SIGKILL");
  await new Promise(() => {});
});
await receiver.start();
if (step === "break") console.log(`stored: ${(await receiver.fetch(delivery())).status}`);
else {
  const until = Date.now() + 60_000;
  for (;;) {
    const { attempts } = await receiver.stats();
    if (attempts.done > 0) break;
    if (Date.now() > until) throw new Error("not handled");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const { length } = await rowsOf(`task-${id}`);
  console.log(`${id}: written ${length === 1 ? "once" : `${length} times`}`);
  await receiver.close();
  process.exit();
}

function delivery(): Request {
  const body = JSON.stringify({
    id: `event-${id}`,
    event: "task.completed",
    version: "2",
    occurredAt: "2026-03-01T09:30:00.000Z",
    workspaceId: "workspace-1",
    clientId: "client-1",
    taskId: `task-${id}`,
    taskType: "TAX_PREP",
    status: "COMPLETED",
    errorMessage: null,
    taxPrepResult: null,
    customerError: null,
  });
  const timestamp = Math.floor(Date.now() / 1_000);
  const key = Buffer.from(
    (process.env["WORKSPACE_TASKS_SIGNING_SECRET"] ?? "").replace("whsec_", ""),
    "base64",
  );
  const signature = createHmac("sha256", key).update(`msg_${id}.${timestamp}.${body}`).digest("base64");
  return new Request("http://a.example", {
    method: "POST",
    headers: {
      "webhook-id": `msg_${id}`,
      "webhook-timestamp": `${timestamp}`,
      "webhook-signature": `v1,${signature}`,
    },
    body,
  });
}
