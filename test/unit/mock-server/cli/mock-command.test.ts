import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { describe, expect, test } from "vitest";
import { createMockServer } from "workspace-tasks/mock-server";
import type { CommandIo } from "../../../../cli/command-line.ts";
import { runMockCommand } from "../../../../mock-server/cli/mock-command.ts";
import { runTriggerCommand } from "../../../../mock-server/cli/trigger-command.ts";
import { readSnapshotFile } from "../../../../mock-server/snapshot/snapshot-file.ts";
import { createEndpoint, workspaceToken } from "../../../support/mock-client.ts";
import { startCommand } from "../../../support/run-command.ts";

function start(run: typeof runMockCommand, argv: readonly string[], io: Partial<CommandIo> = {}) {
  return startCommand(run, argv, { ...io, env: { PATH: process.env["PATH"], ...io.env } });
}

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "mock-cli-"));
  try {
    await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Starts a mock that says one line of JSON, and stops it. */
async function withMock(
  argv: readonly string[],
  use: (ready: Record<string, string>) => Promise<void>,
): Promise<{ code: number; err: string }> {
  const command = start(runMockCommand, ["--port", "0", "--json", ...argv]);
  const text = await command.firstOutput();
  try {
    if (text) await use(JSON.parse(text));
  } finally {
    command.stop();
  }
  return command.result();
}

describe("mock", () => {
  test("says in one line of JSON where it listens and which keys are ready", async () => {
    const { code } = await withMock(["--seed", "7", "--clock", "virtual"], async (ready) => {
      expect(ready).toMatchObject({ ready: true, gatewayUrl: `${ready["baseUrl"]}/gateway` });
      const health = await fetch(`${ready["baseUrl"]}/_mock/v1/health`);
      expect(await health.json()).toMatchObject({ status: "ok", now: "2026-01-15T12:00:00.000Z" });
      await using twin = await createMockServer({ seed: 7, clock: "virtual", listen: false });
      expect(ready["apiKey"]).toBe(twin.apiKey);
    });
    expect(code).toBe(0);
  });

  test("says it to people in words", async () => {
    const command = start(runMockCommand, ["--port", "0"]);
    const text = await command.firstOutput();
    expect(text).toMatch(/base url +http:\/\/127\.0\.0\.1:\d+\n/);
    expect(text).toMatch(/api key +wtk_\S+\n/);
    command.stop();
    expect(await command.result()).toMatchObject({ code: 0, err: "" });
  });

  test("registers a receiver and tells its secret, which verifies the deliveries", async () => {
    const bodies: { body: string; headers: Record<string, string> }[] = [];
    const receiver = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      bodies.push({
        body: Buffer.concat(chunks).toString(),
        headers: request.headers as Record<string, string>,
      });
      response.writeHead(204).end();
    });
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hooks`;
    await withMock(["--deliver-to", url], async (ready) => {
      const { code, out } = await start(runTriggerCommand, [
        "task.completed",
        "--mock",
        ready["baseUrl"] ?? "",
      ]).result();
      expect(out).toMatch(/^task\.completed → endpoint \S+: succeeded after 1 attempt/);
      expect(code).toBe(0);
      const names = bodies.map(({ body, headers }) => {
        const event = new Webhook(ready["signingSecret"] ?? "").verify(body, headers) as { event: string };
        return event.event;
      });
      expect(names).toEqual(["task.running", "task.completed"]);
    });
    receiver.close();
  });

  test("keeps its state in a file and goes on from there", () =>
    inFolder(async (folder) => {
      const path = join(folder, "state.json");
      const first = await withMock(["--state", path], async (ready) => {
        await fetch(`${ready["baseUrl"]}/_mock/v1/tasks`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ taskType: "BINDER", progression: "manual" }),
        });
      });
      expect(first.code).toBe(0);
      await withMock(["--state", path, "--seed", "9"], async (ready) => {
        const { state } = JSON.parse(await readFile(path, "utf8"));
        const task = await fetch(`${ready["baseUrl"]}/_mock/v1/tasks/${state.tasks[0].id}`);
        expect(await task.json()).toMatchObject({ taskType: "BINDER", status: "RUNNING" });
        const health = await fetch(`${ready["baseUrl"]}/graphql`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({
            query:
              "mutation ($k: String!) { exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: $k) { userToken } }",
            variables: { k: ready["apiKey"] },
          }),
        });
        expect(await health.json()).not.toHaveProperty("errors");
      });
    }));

  test("writes its state while it runs, so that a crash costs a second and not the day", () =>
    inFolder(async (folder) => {
      const path = join(folder, "state.json");
      await withMock(["--state", path], async (ready) => {
        await fetch(`${ready["baseUrl"]}/_mock/v1/api-keys`, { method: "POST" });
        const keys = async () => (await readSnapshotFile(path))?.state.apiKeys.length;
        await expect.poll(keys, { interval: 20, timeout: 20_000 }).toBe(2);
      });
    }));

  test("plays a scenario before it is ready", () =>
    inFolder(async (folder) => {
      const path = join(folder, "scenario.json");
      await writeFile(path, JSON.stringify({ steps: [{ do: "start-task", taskType: "BINDER" }] }));
      await withMock(["--scenario", path], async (ready) => {
        const snapshot = await (await fetch(`${ready["baseUrl"]}/_mock/v1/snapshot`)).json();
        expect(snapshot).toMatchObject({ state: { tasks: [{ type: "BINDER" }] } });
      });
    }));

  test.each([
    [["--port", "x"], "expected a whole number from 0 to 65535 for --port"],
    [["--port", "70000"], "expected a whole number from 0 to 65535 for --port"],
    [["--clock", "sideways"], "expected real or virtual for --clock"],
    [["--chaos", "total"], "expected contract for --chaos"],
    [["--colour"], "'--colour'"],
    [["--seed"], "--seed"],
    [["stop"], 'expected flags only, got "stop"'],
    [["exec"], "expected a command after --"],
    [["exec", "--port", "0"], "expected a command after --"],
  ])("refuses %j in one sentence that says what is wrong", async (argv, sentence) => {
    const { code, out, err } = await start(runMockCommand, argv).result();
    expect(code).toBe(2);
    expect(out).toBe("");
    expect(err).toContain(sentence);
    expect(err).toMatch(/^mock( exec)?: .+\nTry workspace-tasks mock( exec)? --help\n$/);
  });

  test("says in one sentence that the port is in use, and what to do", async () => {
    await using mock = await createMockServer();
    const { port } = new URL(mock.baseUrl);
    const { code, err } = await start(runMockCommand, ["--port", port]).result();
    expect(code).toBe(1);
    expect(err).toBe(`mock: port ${port} is in use; stop what listens there or choose another with --port\n`);
  });

  test("warns when others can reach it, and names an address that a client can call", async () => {
    const { err } = await withMock(["--host", "0.0.0.0"], async (ready) => {
      expect(ready["baseUrl"]).toMatch(/^http:\/\/127\.0\.0\.1:/);
      expect((await fetch(`${ready["baseUrl"]}/_mock/v1/health`)).status).toBe(200);
    });
    expect(err).toBe(
      "mock: others on the network can reach it at 0.0.0.0; it is meant for this computer only\n",
    );
  });

  test("says in one sentence that a host is not this computer's", async () => {
    const { code, err } = await start(runMockCommand, ["--port", "0", "--host", "203.0.113.7"]).result();
    expect(code).toBe(1);
    expect(err).toBe("mock: this computer has no address 203.0.113.7; choose another with --host\n");
  });

  test("says in one sentence that a state file is broken, and leaves the file as it is", () =>
    inFolder(async (folder) => {
      const path = join(folder, "state.json");
      for (const text of ["", "{", "{}", '{"format":"workspace-tasks-mock","version":99}']) {
        await writeFile(path, text);
        const { code, err } = await start(runMockCommand, ["--port", "0", "--state", path]).result();
        expect(code).toBe(1);
        expect(err).toMatch(/^mock: cannot go on from .+ to start anew\n$/);
        expect(err).not.toContain("    at ");
        expect(await readFile(path, "utf8")).toBe(text);
      }
    }));

  test("says in one sentence that a state file cannot be written", async () => {
    const command = start(runMockCommand, ["--port", "0", "--state", "/nowhere/at/all.json"]);
    await command.firstOutput();
    command.stop();
    const { code, err } = await command.result();
    expect(code).toBe(1);
    expect(err).toMatch(/^mock: the state could not be written to \/nowhere\/at\/all\.json: .+\n$/);
  });

  test("says in one sentence what is wrong with a scenario or a receiver's address", () =>
    inFolder(async (folder) => {
      const path = join(folder, "scenario.json");
      await writeFile(path, JSON.stringify({ steps: [{ do: "dance" }] }));
      const dance = await start(runMockCommand, ["--port", "0", "--scenario", path]).result();
      expect(dance).toMatchObject({ code: 1, err: expect.stringMatching(/^mock: cannot play .+\n$/) });
      const ftp = await start(runMockCommand, ["--port", "0", "--deliver-to", "ftp://receiver"]).result();
      expect(ftp).toMatchObject({ code: 1, err: "mock: Webhook endpoint url must be an HTTPS URL\n" });
    }));
});

describe("mock exec", () => {
  const script = "process.exit(Number(process.argv[1]))";

  test("passes the command's exit code through", async () => {
    for (const wanted of [0, 3]) {
      const argv = ["exec", "--", process.execPath, "-e", script, String(wanted)];
      expect((await start(runMockCommand, argv).result()).code).toBe(wanted);
    }
  });

  test("tells the command where the mock is and which keys are ready", () =>
    inFolder(async (folder) => {
      const path = join(folder, "env.json");
      const tell = `
        const mine = Object.entries(process.env).filter(([name]) => name.startsWith("WORKSPACE_TASKS_"));
        fetch(process.env.WORKSPACE_TASKS_BASE_URL + "/_mock/v1/health").then((health) =>
          require("fs").writeFileSync(${JSON.stringify(path)}, JSON.stringify({ ...Object.fromEntries(mine), status: health.status })));`;
      const command = start(runMockCommand, ["exec", "--seed", "7", "--", process.execPath, "-e", tell]);
      expect((await command.result()).code).toBe(0);
      const told = JSON.parse(await readFile(path, "utf8"));
      await using twin = await createMockServer({ seed: 7, listen: false });
      expect(told).toMatchObject({
        status: 200,
        WORKSPACE_TASKS_API_KEY: twin.apiKey,
        WORKSPACE_TASKS_PARTNER_API_KEY: twin.partnerApiKey,
        WORKSPACE_TASKS_GATEWAY_URL: `${told.WORKSPACE_TASKS_BASE_URL}/gateway`,
      });
      await expect(fetch(told.WORKSPACE_TASKS_BASE_URL)).rejects.toThrow();
    }));

  test("mock exec returns 127 when the command was not found", async () => {
    const { code, err } = await start(runMockCommand, ["exec", "--", "no-such-command-anywhere"]).result();
    expect([code, err]).toEqual([127, 'mock exec: the command "no-such-command-anywhere" was not found\n']);
  });

  test("mock exec returns 126 when the command is there and cannot be run", () =>
    inFolder(async (folder) => {
      const file = join(folder, "not-executable");
      await writeFile(file, "");
      const { code, err } = await start(runMockCommand, ["exec", "--", file]).result();
      expect([code, err]).toEqual([126, expect.stringContaining(`"${file}" could not be run: spawn`)]);
    }));

  test("hands a request to stop on to the command, and answers with its signal", async () => {
    const command = start(runMockCommand, [
      "exec",
      "--",
      process.execPath,
      "-e",
      "setInterval(() => {}, 1000)",
    ]);
    command.stop();
    expect((await command.result()).code).toBe(128 + 15);
  });

  test("leaves Ctrl+C at a terminal to the command, which has heard it too", async () => {
    const script =
      'fetch(process.env.WORKSPACE_TASKS_BASE_URL + "/_mock/v1/health").then(() => process.exit(4))';
    const command = start(runMockCommand, ["exec", "--", process.execPath, "-e", script], { isTTY: true });
    command.stop("SIGINT");
    expect((await command.result()).code).toBe(4);
  });
});

describe("trigger", () => {
  const withReceiver = async (status: number, use: (mockUrl: string) => Promise<void>) => {
    const url = "http://127.0.0.1:1/hooks";
    const receivers = new Map([[url, () => new Response(null, { status })]]);
    await using mock = await createMockServer({ receivers });
    await createEndpoint(mock, url);
    await use(mock.baseUrl);
  };

  test.each(["task.running", "task.failed", "subtask.completed", "subtask.failed", "documents.synced"])(
    "makes %s happen and waits for its deliveries",
    (event) =>
      withReceiver(204, async (mockUrl) => {
        const command = start(runTriggerCommand, [event, "--json"], {
          env: { WORKSPACE_TASKS_BASE_URL: mockUrl },
        });
        const { code, out } = await command.result();
        expect(code).toBe(0);
        expect(JSON.parse(out)).toMatchObject({ event, deliveries: [{ event, status: "succeeded" }] });
      }),
  );

  test("says that a delivery did not succeed and when it is tried again", () =>
    withReceiver(500, async (mockUrl) => {
      const { code, out } = await start(runTriggerCommand, ["task.running", "--mock", mockUrl]).result();
      expect(code).toBe(1);
      expect(out).toMatch(/: pending after 1 attempt\(s\), next at 20\d\d-/);
    }));

  test("says that nobody subscribes", async () => {
    await using mock = await createMockServer();
    const { out } = await start(runTriggerCommand, ["task.running", "--mock", mock.baseUrl]).result();
    expect(out).toBe("task.running: no enabled endpoint of the workspace subscribes to it\n");
  });

  test("passes on why the mock refuses", async () => {
    await using mock = await createMockServer();
    await workspaceToken(mock);
    const { code, err } = await start(runTriggerCommand, [
      "client.archived",
      "--mock",
      mock.baseUrl,
    ]).result();
    expect(code).toBe(1);
    expect(err).toContain('event "client.archived" is not in the catalog');
  });

  test("says how to start a mock where none answers", async () => {
    const closed = await createMockServer();
    await closed.close();
    const { code, err } = await start(runTriggerCommand, ["task.running", "--mock", closed.baseUrl]).result();
    expect(code).toBe(1);
    expect(err).toContain('start one with "workspace-tasks mock"');
  });

  test.each([
    [[], "expected one event name, got 0"],
    [["a", "b"], "expected one event name, got 2"],
    [["a", "--mock", "nowhere"], "expected a URL for --mock"],
    [["a", "--payload", "{"], "expected JSON for --payload"],
    [["a", "--payload", "[]"], "expected a JSON object for --payload"],
    [["a", "--timeout-ms", "0"], "expected a whole number from 1 to 600000 for --timeout-ms"],
  ])("refuses %j in one sentence", async (argv, sentence) => {
    const { code, err } = await start(runTriggerCommand, argv).result();
    expect(code).toBe(2);
    expect(err).toContain(`trigger: ${sentence}`);
  });
});

test.each([
  ["mock", runMockCommand, ["--help"]],
  ["mock exec", runMockCommand, ["exec", "-h"]],
  ["trigger", runTriggerCommand, ["--help"]],
] as const)("%s --help fits on one screen and is all that happens", async (name, run, argv) => {
  const { code, out, err } = await start(run, argv).result();
  expect([code, err]).toEqual([0, ""]);
  expect(out).toContain(`Usage: workspace-tasks ${name}`);
  const lines = out.trimEnd().split("\n");
  expect(lines.length).toBeLessThanOrEqual(30);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(110);
});
