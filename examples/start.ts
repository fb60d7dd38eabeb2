// What `npm start` runs: the mock service with its inspector page, an Express receiver on a durable SQLite
// inbox, and an SDK client that walks the whole partner flow. With `--once` it ends after the flow, with
// exit code 0 only if the receiver and the service agree about every task.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMockServer, type MockServer } from "workspace-tasks/mock-server";
import type { Task } from "workspace-tasks/sdk";
import { say, step, taskTable } from "./start/narrator.ts";
import { walkPartnerFlow } from "./start/partner-flow.ts";
import { startReceiver } from "./start/receiver.ts";

const once = process.argv.includes("--once");
const inspectorPort = 4010;
const taxPrepInTwoSeconds = {
  mode: "timed",
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
  say("workspace-tasks: a partner's whole integration, on this machine\n");
  step("mock service", `${mock.baseUrl}  inspector page: ${mock.inspectorUrl}`);
  step("receiver", `${receiver.url}  inbox: SQLite, in a temporary folder`);

  const tasks = await Promise.race([walkPartnerFlow(mock, receiver), interruption]);
  if (tasks) {
    agreed = await compare(tasks);
    if (!once) {
      say(`\nLook around: ${mock.inspectorUrl}   API key: ${mock.apiKey}`);
      say("Ctrl-C ends it.");
      await interruption;
    }
  }
} finally {
  await receiver.close();
  await mock.close();
  rmSync(folder, { recursive: true, force: true });
}
// Interrupted in mid-flow, something may still be waiting; there is nothing left to wait for.
process.exit(agreed ? 0 : 1);

/** Prints what service and receiver believe of each task. */
async function compare(tasks: readonly Task[]): Promise<boolean> {
  const differences = taskTable(tasks, receiver.board());
  const { ingest } = await receiver.stats();
  step(
    "deliveries",
    `${ingest.accepted} taken, ${ingest.duplicates} repetitions recognised, each applied once`,
  );
  step("result", differences === 0 ? "receiver and service agree" : `${differences} tasks differ`);
  return differences === 0 && tasks.length > 0;
}

/** On the port of the documentation, or on any other when that one is taken. */
async function startMock(): Promise<MockServer> {
  const options = {
    // Quick stages, and a network that repeats and overtakes, as the service's interface permits.
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
