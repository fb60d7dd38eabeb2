import { once } from "node:events";
import { readdirSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
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

const leftovers = () => readdirSync(tmpdir()).filter((name) => name.startsWith("workspace-tasks-start-"));

test("--once walks the whole flow while the documented port is taken, and ends with 0", async () => {
  // Whoever holds it, another one or this: the flow takes any other.
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

test("without --once it stays up for a look around, and Ctrl-C leaves nothing behind", async () => {
  const before = leftovers();
  using program = start();
  const [, inspectorUrl = ""] = await program.said(/Look around: (\S+)[\s\S]*Ctrl-C ends it\./);
  const health = await fetch(new URL("v1/health", inspectorUrl));
  expect(health.status).toBe(200);
  program.signal("SIGINT");
  expect((await program.ended()).code).toBe(0);
  await expect(fetch(inspectorUrl)).rejects.toThrow();
  expect(leftovers().filter((name) => !before.includes(name))).toEqual([]);
});

test("interrupted in the middle of the flow it ends at once, and not as if all were well", async () => {
  using program = start("--once");
  await program.said(/\nimport /);
  program.signal("SIGINT");
  const { code, output } = await program.ended();
  expect(code).toBe(1);
  expect(output).not.toContain("result ");
  expect(output).not.toMatch(/\n {4}at /);
});
