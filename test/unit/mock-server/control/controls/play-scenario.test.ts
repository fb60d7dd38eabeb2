import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createMockServer, type MockServer, type ScenarioInput } from "workspace-tasks/mock-server";
import { runMockCommand } from "../../../../../mock-server/cli/mock-command.ts";
import { parseScenario } from "../../../../../mock-server/control/controls/read-scenario.ts";

let mock: MockServer;
beforeEach(async () => {
  mock = await createMockServer({ listen: false, clock: "virtual" });
});
afterEach(() => mock.close());

const play = (...steps: ScenarioInput["steps"]) => mock.control.playScenario({ steps });
const taskOf = (response: unknown) => response as { taskId: string; status: string };

describe("playScenario", () => {
  it("ends when its caller has disconnected", async () => {
    const caller = new AbortController();
    const steps = [{ do: "repeat", times: 1_000_000, steps: [{ do: "clear-faults" }] }] as const;
    const played = mock.control.playScenario({ steps }, { signal: caller.signal });
    setTimeout(() => caller.abort(), 20);
    await expect(played).rejects.toMatchObject({
      code: "SCENARIO_FAILED",
      message: expect.stringMatching(/^scenario was cancelled after \d{1,5} steps$/),
    });
  });

  it("executes steps in order, and texts refer to earlier responses by name", async () => {
    const report = await play(
      { do: "start-task", as: "prep", taskType: "TAX_PREP", progression: "manual" },
      {
        do: "set-stage-status",
        as: "stage",
        taskId: "{{prep.taskId}}",
        subTaskType: "review",
        status: "FAILED",
      },
      {
        do: "set-task-status",
        taskId: "{{prep.taskId}}",
        status: "FAILED",
        errorMessage: "stage {{stage.subTaskId}}",
      },
    );
    expect(report.steps).toBe(3);
    const { taskId } = taskOf(report.responses["prep"]);
    const { subTaskId } = report.responses["stage"] as { subTaskId: string };
    expect(await mock.control.getTask(taskId)).toMatchObject({
      status: "FAILED",
      errorMessage: `stage ${subTaskId}`,
      subTasks: [{ subTaskType: "review", status: "FAILED" }],
    });
  });

  it("repeats steps, also across turns of the event loop", async () => {
    const report = await play({
      do: "repeat",
      times: 25,
      steps: [
        {
          do: "repeat",
          times: 10,
          steps: [{ do: "start-task", as: "last", taskType: "BINDER", progression: "immediate" }],
        },
      ],
    });
    expect(report.steps).toBe(250);
    expect((await mock.control.getTask(taskOf(report.responses["last"]).taskId)).status).toBe("COMPLETED");
  });

  it("rejects when expected deliveries do not arrive in time", async () => {
    await expect(
      play({ do: "expect-deliveries", event: "task.running", count: 1, timeoutMs: 0 }),
    ).rejects.toThrow(/scenario step 1 \(expect-deliveries\)/);
  });

  it("names the step that was rejected, also inside a repeat", async () => {
    await expect(
      play({
        do: "repeat",
        times: 2,
        steps: [
          { do: "start-task", as: "task", taskType: "BINDER", progression: "immediate" },
          { do: "set-task-status", taskId: "{{task.taskId}}", status: "RUNNING" },
        ],
      }),
    ).rejects.toThrow("scenario step 1.2 (set-task-status): a task that is COMPLETED cannot become RUNNING");
  });

  it("rejects a reference to nothing before it executes the step", async () => {
    await expect(
      play({ do: "set-task-status", taskId: "{{unknown.taskId}}", status: "FAILED" }),
    ).rejects.toThrow("scenario step 1: {{unknown.taskId}} refers to nothing");
  });

  it("replaces variables in texts", async () => {
    const task = await mock.control.startTask({ taskType: "BINDER", progression: "manual" });
    await mock.control.playScenario({
      variables: { task: task.taskId },
      steps: [{ do: "set-task-status", taskId: "{{task}}", status: "FAILED" }],
    });
    expect((await mock.control.getTask(task.taskId)).status).toBe("FAILED");
  });

  it("rejects an invalid scenario over HTTP with the field, and executes nothing", async () => {
    const response = await mock.fetch("/_mock/v1/scenarios", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        steps: [
          { do: "start-task", taskType: "BINDER" },
          { do: "advance-clock", by: "soon" },
        ],
      }),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: {
        code: "BODY_INVALID",
        message: expect.stringMatching(/^steps\.1\.by: expected/),
      },
    });
    expect((await mock.control.getSnapshot()).state.tasks).toEqual([]);
  });
});

describe("the scenarios of the examples", () => {
  const read = async (name: string) =>
    parseScenario(
      await readFile(new URL(`../../../../../examples/scenarios/${name}`, import.meta.url), "utf8"),
    );

  it("failure-and-recovery.json ends with a completed task", async () => {
    const { responses } = await mock.control.playScenario(await read("failure-and-recovery.json"));
    expect(responses["done"]).toMatchObject({ status: "COMPLETED", errorMessage: null });
  });

  it("busy-season.json ends with a thousand tasks, half of them failed", async () => {
    const { steps } = await mock.control.playScenario(await read("busy-season.json"));
    expect(steps).toBe(1_002);
    await mock.clock.advance("1h");
    const statuses = (await mock.control.getSnapshot()).state.tasks.map(
      ({ type, status }) => `${type} ${status}`,
    );
    expect(statuses.filter((status) => status === "TAX_PREP COMPLETED")).toHaveLength(500);
    expect(statuses.filter((status) => status === "TAX_REVIEW FAILED")).toHaveLength(500);
  });
});

describe("parseScenario", () => {
  for (const [text, message] of [
    ["{", "the text is not JSON"],
    ["[]", /^body: /],
    ['{"steps":[{"do":"dance"}]}', /^steps\.0\.do: /],
    ['{"steps":[{"do":"clear-faults","extra":1}]}', /^steps\.0: .*extra/],
    ['{"steps":[{"do":"repeat","times":2,"steps":[{"do":"advance-clock"}]}]}', /^steps\.0\.steps\.0\.by/],
    ['{"steps":[{"do":"start-task","taskType":"BINDER","as":"1st"}]}', /expected a name such as firstTask/],
  ] as const) {
    it(`rejects ${text}`, () => {
      expect(() => parseScenario(text)).toThrow(message);
    });
  }
});

describe("workspace-tasks mock --scenario", () => {
  const run = async (scenario: string) => {
    const folder = await mkdtemp(join(tmpdir(), "scenario-"));
    const path = join(folder, "scenario.json");
    await writeFile(path, scenario);
    const stop = new AbortController();
    const written = { stdout: "", stderr: "" };
    const io = {
      // Ready: the scenario has been played, so the command has done what it is asked here.
      stdout: {
        write(text: string) {
          written.stdout += text;
          stop.abort();
        },
      },
      stderr: {
        write(text: string) {
          written.stderr += text;
        },
      },
      env: {},
      stop: stop.signal,
    };
    const exitCode = await runMockCommand(["--port", "0", "--json", "--scenario", path], io);
    await rm(folder, { recursive: true });
    return { exitCode, path, ...written };
  };

  it("prints which step failed, and does not start", async () => {
    const { exitCode, stdout, stderr } = await run('{"steps":[{"do":"advance-clock","by":"1h"}]}');
    expect([exitCode, stdout]).toEqual([1, ""]);
    expect(stderr).toBe(
      "mock: scenario step 1 (advance-clock): a real clock cannot be advanced; use a virtual one\n",
    );
  });
});
