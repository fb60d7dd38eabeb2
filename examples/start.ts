// Runs the mock with its inspector, an Express receiver, and a client with the whole partner flow: `npm start`.
// With `--once` it ends after the flow, with the exit code 0 only if receiver and service agree about every task.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import type { Task } from "@workspace-tasks/sdk";
import { print, printStep, printTasks } from "./start/output.ts";
import { runPartnerFlow } from "./start/partner-flow.ts";
import { startReceiver } from "./start/receiver.ts";

const once = process.argv.includes("--once");
const inspectorPort = 4010;
const taxPrepInTwoSeconds = {
  progression: "timed",
  stages: ["document-classification", "tax-extraction", "reconciliation", "data-entry", "review"].map(
    (type) => ({ type, durationMs: 400 }),
  ),
} as const;

const folder = mkdtempSync(join(tmpdir(), "workspace-tasks-start-"));
const mock = await startMock();
const receiver = await startReceiver(join(folder, "webhooks.db"));
const interruption = interrupted();
let agreed = false;

try {
  print("workspace-tasks: a complete partner integration on this machine\n");
  printStep("mock service", `${mock.baseUrl}  inspector page: ${mock.inspectorUrl}`);
  printStep("receiver", `${receiver.url}  inbox: SQLite, in a temporary folder`);

  const tasks = await Promise.race([runPartnerFlow(mock, receiver), interruption]);
  if (tasks) {
    agreed = await compare(tasks);
    if (!once) {
      print(`\nInspector: ${mock.inspectorUrl}   API key: ${mock.apiKey}`);
      print("Press Ctrl-C to stop.");
      await interruption;
    }
  }
} finally {
  await receiver.close();
  await mock.close();
  rmSync(folder, { recursive: true, force: true });
}
// After an interruption some calls are still in flight; do not wait for them.
process.exit(agreed ? 0 : 1);

/** Prints the tasks of service and receiver, and returns whether they agree. */
async function compare(tasks: readonly Task[]): Promise<boolean> {
  const differences = printTasks(tasks, receiver.states.list());
  const { ingest } = await receiver.stats();
  printStep(
    "deliveries",
    `${ingest.accepted} accepted, ${ingest.duplicates} duplicates, each event applied once`,
  );
  printStep("result", differences === 0 ? "receiver and service agree" : `${differences} tasks differ`);
  return differences === 0 && tasks.length > 0;
}

/** Uses the documented port, or a free one when it is in use. */
async function startMock(): Promise<MockServer> {
  const options = {
    // Short stages. Deliveries are duplicated and reordered, as the service's interface permits.
    settings: { tasks: { plans: { TAX_PREP: taxPrepInTwoSeconds } } },
    faults: {
      deliveries: [
        { chances: [{ probability: 0.2, fault: { kind: "duplicate" } }] },
        { chances: [{ probability: 0.2, fault: { kind: "delay", delayMs: 400 } }] },
      ],
    },
  } as const;
  try {
    return await createMockServer({ ...options, port: inspectorPort });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    return createMockServer(options);
  }
}

function interrupted(): Promise<void> {
  return new Promise((resolve) => {
    process.once("SIGINT", () => resolve());
    process.once("SIGTERM", () => resolve());
  });
}
