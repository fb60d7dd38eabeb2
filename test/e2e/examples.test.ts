import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../support/listen.ts";
import { hasPostgres } from "../support/machine.ts";
import { RunningProgram } from "../support/running-program.ts";

const root = join(import.meta.dirname, "../..");
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "workspace-tasks-examples-"));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Runs an example as `npm run example` does, in an empty folder. */
const start = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  new RunningProgram([join(root, "scripts/example.mjs"), ...args], { cwd: folder, env });

/** Examples that end by themselves, and what they must say. */
const programs: Record<string, RegExp> = {
  "first-request": /is admin of/,
  "partner-flow": /Chidi Okafor: F1040 for \d+ prepared/,
  "rotate-secret": /6 deliveries over a rotation: 6 handled, 0 failed/,
  "reconcile-after-downtime": /the receiver knows: COMPLETED/,
  "receiver-fetch": /task\.completed: TAX_PREP/,
  opentelemetry: /query Me: 2 attempt\(s\)\nmutation DeleteWebhookEndpoint: 1 attempt\(s\) failed: NOT_FOUND/,
  "two-processes": /20 of 20 tasks are COMPLETED/,
};

/** Examples that are proved elsewhere: receivers below or by two-processes, tests by themselves, start by its own. */
const elsewhere = ["receiver-sqlite", "receiver-postgres", "msw", "vitest-fixture", "start"];

test("every example is run by a test", async () => {
  const files = (await readdir(join(root, "examples"))).filter((file) => file.endsWith(".ts"));
  const names = files.map((file) => file.replace(/(\.test)?\.ts$/, ""));
  expect(names.sort()).toEqual([...Object.keys(programs), ...elsewhere].sort());
});

// They mostly wait for stages, so they wait together.
describe.concurrent("an example ends well and says", () => {
  test.for(Object.entries(programs))(
    "%s: %s",
    { timeout: 90_000 },
    async ([name, expected], { expect, skip }) => {
      if (name === "two-processes") skip(!hasPostgres, "it starts a PostgreSQL server");
      using program = start([name]);
      const { code, output } = await program.ended();
      expect(output).toMatch(expected);
      expect(code).toBe(0);
    },
  );
});

test("receiver-sqlite keeps what the mock beside it is told to send, and ends in order", async () => {
  const port = await freePort();
  using example = start(["receiver-sqlite"], { PORT: String(port), MOCK_PORT: "0" });
  const [, mockUrl = ""] = await example.said(/beside a mock at (\S+?);/);
  await example.said(/ready for webhooks/);

  const bin = join(root, "bin/workspace-tasks.js");
  const args = ["--conditions=workspace-tasks-source", "--import", "tsx", bin, "trigger", "task.completed"];
  const trigger = spawn(process.execPath, [...args, "--mock", mockUrl], { cwd: root, stdio: "ignore" });
  expect(await once(trigger, "close")).toEqual([0, null]);
  const [, taskId] = await example.said(/TAX_PREP (\S+) is COMPLETED/);

  example.signal("SIGTERM");
  expect((await example.ended()).code).toBe(0);
  const board = new Database(join(folder, "webhooks.db")).prepare("SELECT * FROM task_board").all();
  expect(board).toMatchObject([{ task_id: taskId, status: "COMPLETED" }]);
});

test("an example that does not exist is an error, and the list names those that do", async () => {
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
