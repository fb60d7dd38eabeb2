import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { packageFlagsOfTypescript } from "../../support/package-flags.ts";
import { RunningProgram } from "../../support/running-program.ts";

/** What `npm start` runs, with the build if there is one. */
const program = [...packageFlagsOfTypescript, "examples/start.ts"];
const start = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  new RunningProgram([...program, ...args], { env });

it("npm start -- --once runs the whole flow while the documented port is in use, and exits with 0", async () => {
  const holder = createServer().listen(4010, "127.0.0.1");
  // It does not matter which process has the port: when it is in use already, that is what this test needs.
  await once(holder, "listening").catch(() => {});
  using running = start(["--once"]);
  const { code, output } = await running.ended();
  holder.close();
  expect(output).toContain("receiver and service agree");
  expect(output).toMatch(/mock service {3}http:\/\/127\.0\.0\.1:(?!4010 )\d+ /);
  const steps = ["workspace", "signed in", "endpoint", "connection", "job", "import", "reconcile"];
  const places = steps.map((step) => output.indexOf(`\n${step} `));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(places).not.toContain(-1);
  expect(output.match(/COMPLETED, 5 stages {5}COMPLETED, 5 stages/g)).toHaveLength(3);
  expect(code).toBe(0);
});

it("npm start keeps the inspector open until Ctrl-C, and then leaves no process and no files", async () => {
  const folder = mkdtempSync(join(tmpdir(), "workspace-tasks-start-test-"));
  using running = start([], { TMPDIR: folder });
  const [, inspectorUrl = ""] = await running.said(/Inspector: (\S+)[\s\S]*Press Ctrl-C to stop\./);
  const health = await fetch(new URL("v1/health", inspectorUrl));
  expect(health.status).toBe(200);
  running.signal("SIGINT");
  expect((await running.ended()).code).toBe(0);
  await expect(fetch(inspectorUrl)).rejects.toThrow();
  expect(readdirSync(folder).filter((name) => !name.startsWith("tsx-"))).toEqual([]);
  rmSync(folder, { recursive: true });
});

it("npm start -- --once exits with 1 and without a stack trace when it is interrupted during the flow", async () => {
  using running = start(["--once"]);
  await running.said(/\nimport /);
  running.signal("SIGINT");
  const { code, output } = await running.ended();
  expect(code).toBe(1);
  expect(output).not.toContain("result ");
  expect(output).not.toMatch(/\n {4}at /);
});
