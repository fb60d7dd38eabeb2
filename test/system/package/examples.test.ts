import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort, listen } from "../../support/listen.ts";
import { packageEnvironment, packageFlags } from "../../support/package-flags.ts";
import { RunningProgram } from "../../support/running-program.ts";
import { hasPostgres } from "../../support/with-postgres.ts";

const root = join(import.meta.dirname, "../../..");
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "workspace-tasks-examples-"));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Runs an example as `npm run example` does, in an empty folder. */
const start = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  new RunningProgram([join(root, "examples/run.mjs"), ...args], {
    cwd: folder,
    env: { ...packageEnvironment, ...env },
  });

/** Examples that exit without a signal, and what they print. */
const programs: Record<string, RegExp> = {
  "first-request": /is admin of/,
  "partner-flow": /Chidi Okafor: F1040 for \d+ prepared/,
  "rotate-secret": /6 deliveries over a rotation: 6 handled, 0 failed/,
  "reconcile-after-downtime": /the receiver has: COMPLETED/,
  "receiver-fetch": /task\.completed: TAX_PREP/,
  "receiver-telemetry": /deliveries_total\{source="default",outcome="accepted".*\} [1-9]/,
  "receiver-tenants": /acme: task \S+ is COMPLETED[\s\S]*bolt: task \S+ is COMPLETED/,
  opentelemetry: /query Me: 2 attempt\(s\)\nmutation DeleteWebhookEndpoint: 1 attempt\(s\) failed: NOT_FOUND/,
  "nightly-import": /3 imported, 0 were there, 0 to look at/,
  "typed-documents": /\d+ clients/,
  "two-processes": /20 of 20 tasks are COMPLETED/,
};

/** Examples that other tests run: receivers below, by two-processes or rabbitmq.test.ts, start by start.test.ts. */
const others = ["receiver-sqlite", "receiver-postgres", "receiver-rabbitmq", "start"];

it("every example is a test or is run by one", async () => {
  const files = (await readdir(join(root, "examples"))).filter((file) => /(?<!\.test)\.ts$/.test(file));
  const names = files.map((file) => file.replace(/\.ts$/, ""));
  expect(names.sort()).toEqual([...Object.keys(programs), ...others].sort());
});

// They mostly wait for stages, so they run at the same time.
describe.concurrent("npm run example", () => {
  it.for(Object.entries(programs))(
    "npm run example runs %s, which prints %s and exits with 0",
    { timeout: 300_000 },
    async ([name, expected], { expect, skip }) => {
      if (name === "two-processes") skip(!hasPostgres, "it starts a PostgreSQL server");
      using program = start([name]);
      const { code, output } = await program.ended();
      expect(output).toMatch(expected);
      expect(code).toBe(0);
    },
  );
});

it("the example receiver-sqlite stores the state of an event that `trigger` sends, and exits with 0 on SIGTERM", async () => {
  const port = await freePort();
  using example = start(["receiver-sqlite"], { PORT: String(port), MOCK_PORT: "0" });
  const [, mockUrl = ""] = await example.said(/with a mock at (\S+?);/);
  await example.said(/ready for webhooks/);

  const bin = join(root, "mock-server/tools/bin/workspace-tasks.js");
  const args = [...packageFlags, bin, "trigger", "task.completed"];
  const trigger = spawn(process.execPath, [...args, "--mock", mockUrl], { cwd: root, stdio: "ignore" });
  expect(await once(trigger, "close")).toEqual([0, null]);
  const [, taskId] = await example.said(/TAX_PREP (\S+) is COMPLETED/);

  example.signal("SIGTERM");
  expect((await example.ended()).code).toBe(0);
  const states = new Database(join(folder, "webhooks.db")).prepare("SELECT * FROM task_states").all();
  expect(states).toMatchObject([{ task_id: taskId, status: "COMPLETED" }]);
});

it("the example receiver-sqlite does not say that it is ready when its port is in use, and exits with 1", async () => {
  await using other = await listen(createServer());
  using example = start(["receiver-sqlite"], { PORT: String(other.port), MOCK_PORT: "0" });
  const { code, output } = await example.ended();
  expect(output).toContain("EADDRINUSE");
  expect(output).not.toContain("ready for webhooks");
  expect(code).toBe(1);
});

it("npm run example exits with 2 for an unknown example, and lists the examples without a name", async () => {
  using unknown = start(["dance"]);
  expect(await unknown.ended()).toMatchObject({
    code: 2,
    output: expect.stringContaining('no example "dance"'),
  });
  using list = start([]);
  const { code, output } = await list.ended();
  expect(code).toBe(0);
  for (const name of Object.keys(programs)) expect(output).toContain(`  ${name} `);
});
