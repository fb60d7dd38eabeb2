import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import { mockTest } from "@workspace-tasks/mock-server/vitest";
import { describe, expect } from "vitest";
import { runLogsCommand } from "../../../../mock-server/cli/logs-command.ts";
import { runMockCommand } from "../../../../mock-server/cli/mock-command.ts";
import {
  runClockCommand,
  runResendCommand,
  runResetCommand,
  runSnapshotCommand,
} from "../../../../mock-server/cli/running-mock.ts";
import { listen } from "../../../support/listen.ts";
import { callGraphql, jsonPost } from "../../../support/mock-client.ts";
import { runCommand, startCommand } from "../../../support/run-command.ts";
import { withFolder } from "../../../support/with-folder.ts";

const receiverAddress = "127.0.0.1:1/webhooks";
const receiverUrl = `http://${receiverAddress}`;

const statuses: number[] = [];

const it = mockTest.extend({
  mockOptions: {
    clock: "virtual",
    receivers: new Map([[receiverUrl, () => new Response(null, { status: statuses.shift() ?? 204 })]]),
  },
});

type Run = typeof runClockCommand;
const run = (mock: MockServer, command: Run, ...argv: string[]) =>
  runCommand(command, argv, { env: { WORKSPACE_TASKS_BASE_URL: mock.baseUrl } });

const noUsage = {
  code: 2,
  out: "",
  err: expect.stringMatching(/^workspace-tasks \w+: .*\nTry workspace-tasks \w+ --help\n$/),
};

describe("a command for a running mock", () => {
  it.for<[Run, ...string[]]>([[runSnapshotCommand, "save", "-"], [runResetCommand], [runLogsCommand]])(
    "does nothing at another server that responds with JSON",
    async ([command, ...argv]) => {
      const requests: (string | undefined)[] = [];
      await using other = await listen(
        createServer(({ url }, response) => {
          requests.push(url);
          response.end('{ "data": {} }');
        }),
      );
      const { code, out, err } = await runCommand(command, [...argv, "--mock", other.origin]);
      expect([code, out]).toEqual([1, ""]);
      expect(err).toContain(
        `expected a mock at ${other.origin}, got another server; pass the address of a mock`,
      );
      expect(requests).toEqual(["/_mock/v1/health"]);
    },
  );
});

describe("clock", () => {
  it("clock shows the time, and advances it by a duration or to the next timer", async ({ mock }) => {
    expect((await run(mock, runClockCommand)).out).toBe("2026-01-15T12:00:00.000Z (virtual, 0 timers)\n");
    await mock.control.startTask({ taskType: "TAX_ADVISOR" });
    expect((await run(mock, runClockCommand, "next")).out).toContain("12:00:01.000Z (virtual, 0 timers)");
    expect((await run(mock, runClockCommand, "advance", "1h")).out).toContain("T13:00:01.000Z");
    const { out } = await run(mock, runClockCommand, "advance", "500", "--json");
    expect(JSON.parse(out)).toMatchObject({ now: "2026-01-15T13:00:01.500Z", mode: "virtual" });
  });

  it("clock takes the address as a port, and a world", async ({ mock }) => {
    const world = await mock.worlds.create({ name: "ci" });
    await world.clock.advance("1d");
    const flags = ["--mock", new URL(mock.baseUrl).port, "--world", "ci"];
    expect((await runCommand(runClockCommand, flags)).out).toContain("2026-01-16");
    const { code, err } = await run(mock, runClockCommand, "--world", "other");
    expect([code, err]).toEqual([1, 'workspace-tasks clock: there is no world "other"\n']);
  });

  it.for([["advance"], ["advance", "1x"], ["back"], ["next", "1s"], ["advance", "1s", "2s"]])(
    "clock rejects %j",
    async (argv, { mock }) => expect(await run(mock, runClockCommand, ...argv)).toEqual(noUsage),
  );
});

it("clock says how to start a mock whose clock can be advanced", async () => {
  await using real = await createMockServer();
  expect(await run(real, runClockCommand, "advance", "1s")).toEqual({
    code: 1,
    out: "",
    err: "workspace-tasks clock: a real clock cannot be advanced; use a virtual one: workspace-tasks mock --clock virtual\n",
  });
});

it("a command names the unknown path of a --mock that is not the address of a mock", async ({ mock }) => {
  const { err } = await runCommand(runClockCommand, ["--mock", `${mock.baseUrl}/graphql`]);
  expect(err).toMatch(/^workspace-tasks clock: unknown path \/graphql\/_mock\/v1\/health; the paths are /);
});

describe("resend", () => {
  it("resend sends deliveries again by id, the latest one, and the unsuccessful ones", async ({ mock }) => {
    expect((await run(mock, runResendCommand, "latest")).err).toContain(
      "workspace-tasks resend: there is no delivery yet; ",
    );
    await mock.control.createEndpoint({ url: receiverUrl });
    statuses.push(500, 500, 500);
    await mock.control.startTask({ taskType: "BINDER", progression: "manual" });
    await mock.clock.settle();
    const { id } = await mock.expectDelivery({ responseStatus: 500 });
    const failed = await run(mock, runResendCommand, id);
    expect([failed.code, failed.out]).toEqual([
      1,
      `task.running → ${receiverAddress} 500 not acknowledged (${id})\n`,
    ]);
    expect((await run(mock, runResendCommand, "latest")).code).toBe(1);
    const unsuccessful = await run(mock, runResendCommand, "--unsuccessful");
    expect([unsuccessful.code, unsuccessful.out]).toEqual([
      0,
      `task.running → ${receiverAddress} 204 acknowledged (${id})\n`,
    ]);
    expect(await run(mock, runResendCommand, "--unsuccessful")).toEqual({
      code: 1,
      out: "",
      err: "workspace-tasks resend: no delivery has failed\n",
    });
    expect((await run(mock, runResendCommand, "unknown")).err).toContain('delivery "unknown" not found');
    expect(await run(mock, runResendCommand)).toEqual(noUsage);
    expect(await run(mock, runResendCommand, id, "--unsuccessful")).toEqual(noUsage);
  });
});

describe("snapshot and reset", () => {
  it("snapshot saves the state to a file and restores it after a reset", ({ mock }) =>
    withFolder(async (folder) => {
      const file = join(folder, "state.json");
      const { taskId } = await mock.control.startTask({ taskType: "BINDER", progression: "manual" });
      expect(await run(mock, runSnapshotCommand, "save", file)).toMatchObject({
        code: 0,
        out: `saved to ${file}\n`,
      });
      expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject({ state: { tasks: [{ id: taskId }] } });
      expect((await run(mock, runResetCommand)).code).toBe(0);
      expect((await mock.control.listTasks()).data).toEqual([]);
      expect((await run(mock, runSnapshotCommand, "restore", file)).code).toBe(0);
      expect((await mock.control.getTask(taskId)).status).toBe("RUNNING");
    }));

  it("snapshot saves to standard output, in one line, and to no pipe", ({ mock }) =>
    withFolder(async (folder) => {
      const argv = ["save", "-", "--mock", mock.baseUrl];
      const { code, out } = await runCommand(runSnapshotCommand, argv, { columns: 40 });
      expect(code).toBe(0);
      expect(out.indexOf("\n")).toBe(out.length - 1);
      expect(JSON.parse(out)).toMatchObject({ format: "workspace-tasks-mock" });
      const pipe = join(folder, "pipe");
      execFileSync("mkfifo", [pipe]);
      expect(await run(mock, runSnapshotCommand, "save", pipe)).toMatchObject({
        code: 1,
        out: "",
        err: `workspace-tasks snapshot: save: cannot write ${pipe}: expected a regular file, got a pipe; name another file, or - to print\n`,
      });
    }));

  it("snapshot names the file that cannot be used", ({ mock }) =>
    withFolder(async (folder) => {
      const file = join(folder, "wrong.json");
      await writeFile(file, "{}");
      const errors = [
        ["restore", file],
        ["restore", join(folder, "absent.json")],
        ["save", join(folder, "absent", "state.json")],
      ];
      for (const argv of errors) {
        const { code, err } = await run(mock, runSnapshotCommand, ...argv);
        expect([code, err]).toEqual([1, expect.stringContaining(argv[1] ?? "")]);
      }
      expect(await run(mock, runSnapshotCommand, "sav", file)).toEqual(noUsage);
      expect(await run(mock, runSnapshotCommand, "save")).toEqual(noUsage);
    }));
});

describe("logs", () => {
  it("logs --once prints past requests and attempts in order of time", async ({ mock }) => {
    await mock.control.createEndpoint({ url: receiverUrl });
    await callGraphql(mock, "{ webhookEventCatalog { name } }");
    statuses.push(503);
    await mock.control.startTask({ taskType: "BINDER", progression: "manual" });
    await mock.clock.advance("5s");
    const { code, out } = await run(mock, runLogsCommand, "--once");
    expect(code).toBe(0);
    expect(
      out
        .trim()
        .split("\n")
        .map((line) => line.replace(/^\S+ | in \d+ ms/g, "")),
    ).toEqual([
      "request  200 webhookEventCatalog",
      `delivery 503 task.running → ${receiverAddress}, try 1 of 8`,
      `delivery 204 task.running → ${receiverAddress}, try 2 of 8`,
    ]);
    expect((await run(mock, runLogsCommand, "--once", "--last", "1")).out.trim().split("\n")).toHaveLength(1);
  });

  it("logs follows a mock until it is stopped", async ({ mock }) => {
    await callGraphql(mock, "{ webhookEventCatalog { name } }");
    const env = { WORKSPACE_TASKS_BASE_URL: mock.baseUrl };
    const logs = startCommand(runLogsCommand, ["--json", "--last", "1"], { env });
    await expect.poll(logs.written, { interval: 5 }).toContain("webhookEventCatalog");
    await callGraphql(mock, "{ me { __typename } }").catch(() => undefined);
    await expect.poll(logs.written, { interval: 5 }).toContain('"operations":["me"]');
    logs.stop("SIGINT");
    expect(await logs.result()).toMatchObject({ code: 0, err: "" });
    const unreachable = startCommand(runLogsCommand, [], { env });
    await mock.close();
    expect(await unreachable.result()).toMatchObject({ code: 1 });
  });

  it.for(["data: no JSON\n\n", `data: ${"x".repeat(5 * 1_048_576)}`])(
    "logs ends with an error when the stream has no events (%#)",
    async (text) => {
      await using other = await listen(
        createServer(({ url }, response) => {
          if (url === "/_mock/v1/stream") response.write(text);
          else response.end('{ "status": "ok", "mode": "real", "data": [] }');
        }),
      );
      const { code, err } = await runCommand(runLogsCommand, ["--mock", other.origin]);
      expect([code, err]).toEqual([1, "workspace-tasks logs: expected events of a mock, got other text\n"]);
    },
  );

  it("logs ends with an error when the address has no event stream", async () => {
    await using proxy = await listen(
      createServer(({ url }, response) => {
        response
          .writeHead(url === "/_mock/v1/stream" ? 404 : 200)
          .end('{ "status": "ok", "mode": "real", "data": [] }');
      }),
    );
    const { code, err } = await runCommand(runLogsCommand, ["--mock", proxy.origin]);
    expect([code, err]).toEqual([
      1,
      `workspace-tasks logs: the mock at ${proxy.origin} has no event stream\n`,
    ]);
  });
});

describe("the log of mock", () => {
  async function logOf(...argv: string[]): Promise<string> {
    const flags = ["--port", "0", "--deliver-to", "http://127.0.0.1:1/hooks", ...argv];
    const command = startCommand(runMockCommand, flags);
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(await command.firstOutput())?.[0] ?? "";
    const send = (path: string, body: object) =>
      fetch(url + path, jsonPost(body)).then((response) => response.text());
    await send("/_mock/v1/worlds", { name: "ci" });
    await send("/w/ci/graphql", { query: "{ webhookEventCatalog { name } }" });
    await send("/graphql", { query: "{ me { __typename } }" });
    await send("/_mock/v1/tasks", { taskType: "BINDER", progression: "manual" });
    await send("/_mock/v1/deliveries/wait", { attempted: true });
    command.stop();
    return (await command.result()).out;
  }

  it("mock prints a line for each request and attempt, of its worlds too", async () => {
    const out = await logOf();
    expect(out).toMatch(/^[\d:.]+Z \[ci\] request {2}200 webhookEventCatalog in \d+ ms$/m);
    expect(out).toMatch(/^[\d:.]+Z request {2}200 me in \d+ ms, UNAUTHENTICATED: no authorization header$/m);
    expect(out).toMatch(
      /^[\d:.]+Z delivery --- task\.running → 127\.0\.0\.1:1\/hooks in \d+ ms, ECONNREFUSED: nothing listens there, try 1 of 8, next in \d+ s$/m,
    );
  });

  it.for(["--quiet", "--json"])("mock %s prints no log", async (flag) => {
    expect(await logOf(flag)).not.toContain("request  200");
  });
});
