import { once } from "node:events";
import { readdirSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { expect, it } from "vitest";
import { RunningProgram } from "../support/running-program.ts";

/** What `npm start` runs after the build. */
const start = (...args: string[]) =>
  new RunningProgram([
    "--conditions=workspace-tasks-source",
    "--import",
    "tsx",
    "examples/start.ts",
    ...args,
  ]);

const temporaryFolders = () =>
  readdirSync(tmpdir()).filter((name) => name.startsWith("workspace-tasks-start-"));

it("npm start -- --once runs the whole flow while the documented port is in use, and exits with 0", async () => {
  // Another process may use the port already; then this server fails to listen, and the port is in use all the same.
  const holder = createServer().on("error", () => {});
  holder.listen(4010, "127.0.0.1");
  await Promise.race([once(holder, "listening"), once(holder, "error")]);
  using program = start("--once");
  const { code, output } = await program.ended();
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
  const before = temporaryFolders();
  using program = start();
  const [, inspectorUrl = ""] = await program.said(/Inspector: (\S+)[\s\S]*Press Ctrl-C to stop\./);
  const health = await fetch(new URL("v1/health", inspectorUrl));
  expect(health.status).toBe(200);
  program.signal("SIGINT");
  expect((await program.ended()).code).toBe(0);
  await expect(fetch(inspectorUrl)).rejects.toThrow();
  expect(temporaryFolders().filter((name) => !before.includes(name))).toEqual([]);
});

it("npm start -- --once exits with 1 and without a stack trace when it is interrupted during the flow", async () => {
  using program = start("--once");
  await program.said(/\nimport /);
  program.signal("SIGINT");
  const { code, output } = await program.ended();
  expect(code).toBe(1);
  expect(output).not.toContain("result ");
  expect(output).not.toMatch(/\n {4}at /);
});
