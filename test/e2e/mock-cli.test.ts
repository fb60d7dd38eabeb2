import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";

const bin = join(import.meta.dirname, "../../bin/workspace-tasks.js");
const started: ChildProcess[] = [];

afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
});

/** Runs the command as a user's shell would, from the sources. */
function run(...argv: string[]) {
  const args = ["--conditions=workspace-tasks-source", "--import", "tsx", bin, ...argv];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  started.push(child);
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    err += text;
  });
  return {
    child,
    firstLine: async () => {
      while (!out.includes("\n")) await once(child.stdout, "data");
      return out.slice(0, out.indexOf("\n"));
    },
    ended: async () => {
      const [code, signal] = await once(child, "close");
      return { code, signal, out, err };
    },
  };
}

test.each(["SIGINT", "SIGTERM"] as const)(
  "a mock that runs answers, and %s ends it in order",
  async (signal) => {
    const mock = run("mock", "--port", "0", "--json");
    const ready = JSON.parse(await mock.firstLine());
    const health = await fetch(`${ready.baseUrl}/_mock/v1/health`);
    expect(health.status).toBe(200);
    // An open stream of events must not keep the process alive.
    const stream = await fetch(`${ready.baseUrl}/_mock/v1/stream`);
    const ended = mock.ended();
    mock.child.kill(signal);
    expect(await ended).toMatchObject({ code: 0, signal: null, err: "" });
    await stream.text().catch(() => "");
  },
);

test("mock exec runs a command beside the mock and passes its exit code through", async () => {
  const script =
    'fetch(process.env.WORKSPACE_TASKS_BASE_URL + "/_mock/v1/health").then((r) => process.exit(r.status - 200 + 5))';
  const command = run("mock", "exec", "--", process.execPath, "-e", script);
  expect((await command.ended()).code).toBe(5);
});

test("trigger reaches a mock that runs in another process", async () => {
  const mock = run("mock", "--port", "0", "--json");
  const ready = JSON.parse(await mock.firstLine());
  const trigger = run("trigger", "task.completed", "--mock", ready.baseUrl);
  expect(await trigger.ended()).toMatchObject({
    code: 0,
    out: expect.stringContaining("no enabled endpoint"),
  });
});

test.each([
  [["--help"], 0],
  [["--version"], 0],
  [[], 2],
  [["dance"], 2],
  [["mock", "--colour"], 2],
])("workspace-tasks %j ends with %d, without a stack", async (argv, code) => {
  const result = await run(...argv).ended();
  expect(result.code).toBe(code);
  expect(result.out + result.err).not.toMatch(/\n {4}at /);
  if (code === 0) expect(result.err).toBe("");
  else expect(result.out).toBe("");
});

test("what no command foresaw is still one sentence, not a stack", async () => {
  // A lookup that the system refuses for a reason no command names.
  const host = ["--host", "a".repeat(300)];
  const plain = await run("mock", "--port", "0", ...host).ended();
  expect(plain.code).toBe(1);
  expect(plain.err).toMatch(/^[^\n]+\n$/);
});

test("the list of commands names each, and each has a help of its own", async () => {
  const { out } = await run("--help").ended();
  const names = [...out.matchAll(/^ {2}([a-z-]+) {2,}/gm)]
    .map(([, name = ""]) => name)
    .filter((name) => !name.startsWith("--"));
  expect(names).toEqual(["mock", "trigger", "check-receiver", "inbox"]);
  const helps = await Promise.all(names.map((name) => run(name, "--help").ended()));
  expect(helps.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  for (const [index, name] of names.entries()) {
    expect(helps[index]?.out).toContain(`workspace-tasks ${name}`);
  }
});
