import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createMockServer, type MockServer } from "workspace-tasks/mock-server";
import { runMockCommand } from "../../../mock-server/cli/mock-command.ts";
import type { ScenarioDocument } from "../../../mock-server/control/scenario.ts";
import { parseScenario } from "../../../mock-server/control/scenario.ts";

let mock: MockServer;
beforeEach(async () => {
  mock = await createMockServer({ listen: false, clock: "virtual" });
});
afterEach(() => mock.close());

const play = (...steps: ScenarioDocument["steps"]) => mock.admin.playScenario({ steps });
const taskOf = (answer: unknown) => answer as { taskId: string; status: string };

describe("a scenario", () => {
  test("takes its steps in order and refers to earlier answers by name", async () => {
    const report = await play(
      { do: "start-task", as: "prep", taskType: "TAX_PREP", progression: "manual" },
      { do: "move-stage", as: "stage", taskId: "{{prep.taskId}}", subTaskType: "review", status: "FAILED" },
      {
        do: "move-task",
        taskId: "{{prep.taskId}}",
        status: "FAILED",
        errorMessage: "stage {{stage.subTaskId}}",
      },
    );
    expect(report.steps).toBe(3);
    const { taskId } = taskOf(report.answers["prep"]);
    const { subTaskId } = report.answers["stage"] as { subTaskId: string };
    expect(mock.admin.task(taskId)).toMatchObject({
      status: "FAILED",
      errorMessage: `stage ${subTaskId}`,
      subTasks: [{ subTaskType: "review", status: "FAILED" }],
    });
  });

  test("changes how tasks move on, and moves time", async () => {
    const report = await play(
      {
        do: "plan-tasks",
        taskType: "TAX_PREP",
        progression: "timed",
        stages: [{ type: "waiting", durationMs: 60_000 }],
        outcome: { status: "FAILED", errorMessage: "scripted" },
      },
      { do: "start-task", as: "first", taskType: "TAX_PREP" },
      { do: "advance", by: "59s" },
      { do: "start-task", as: "second", taskType: "TAX_PREP" },
      { do: "advance", by: "1s" },
    );
    const statusOf = (name: string) => mock.admin.task(taskOf(report.answers[name]).taskId).status;
    expect([statusOf("first"), statusOf("second")]).toEqual(["FAILED", "RUNNING"]);
  });

  test("repeats steps, also more than one turn's worth", async () => {
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
    expect(mock.admin.task(taskOf(report.answers["last"]).taskId).status).toBe("COMPLETED");
  });

  test("waits for deliveries that it expects, and fails when they do not come", async () => {
    await expect(
      play({ do: "expect-deliveries", event: "task.running", count: 1, timeoutMs: 0 }),
    ).rejects.toThrow(/scenario step 1 \(expect-deliveries\)/);
  });

  test("says at which step, inside a repeat too, something was refused", async () => {
    await expect(
      play({
        do: "repeat",
        times: 2,
        steps: [
          { do: "start-task", as: "task", taskType: "BINDER", progression: "immediate" },
          { do: "move-task", taskId: "{{task.taskId}}", status: "RUNNING" },
        ],
      }),
    ).rejects.toThrow("scenario step 1.2 (move-task): a task that is COMPLETED cannot become RUNNING");
  });

  test("refuses a reference to nothing before anything is done in that step", async () => {
    await expect(play({ do: "move-task", taskId: "{{nobody.taskId}}", status: "FAILED" })).rejects.toThrow(
      "scenario step 1: {{nobody.taskId}} refers to nothing",
    );
  });

  test("takes variables from its caller", async () => {
    const task = mock.admin.startTask({ taskType: "BINDER", progression: "manual" });
    await mock.admin.playScenario(
      { steps: [{ do: "move-task", taskId: "{{task}}", status: "FAILED" }] },
      { task: task.taskId },
    );
    expect(mock.admin.task(task.taskId).status).toBe("FAILED");
  });

  test("played over HTTP does the same and answers with its report", async () => {
    const response = await mock.fetch("/_mock/v1/scenarios", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ steps: [{ do: "start-task", as: "task", taskType: "BINDER" }] }),
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ steps: 1, answers: { task: { status: "RUNNING" } } });
  });

  test("that is wrong is refused over HTTP with its code and the field, and nothing is done", async () => {
    const response = await mock.fetch("/_mock/v1/scenarios", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        steps: [
          { do: "start-task", taskType: "BINDER" },
          { do: "advance", by: "soon" },
        ],
      }),
    });
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({
      error: {
        code: "SCENARIO_REFUSED",
        message: expect.stringMatching(/^scenario: steps\.1\.by: expected/),
      },
    });
    expect(mock.admin.snapshot().state.tasks).toEqual([]);
  });
});

describe("the scenarios of the examples", () => {
  const read = async (name: string) =>
    parseScenario(await readFile(new URL(`../../../examples/scenarios/${name}`, import.meta.url), "utf8"));

  test("failure-and-recovery.json ends with a completed task", async () => {
    const { answers } = await mock.admin.playScenario(await read("failure-and-recovery.json"));
    expect(answers["done"]).toMatchObject({ status: "COMPLETED", errorMessage: null });
  });

  test("busy-season.json ends with a thousand tasks, half of them failed", async () => {
    const { steps } = await mock.admin.playScenario(await read("busy-season.json"));
    expect(steps).toBe(1_002);
    await mock.clock.advance("1h");
    const statuses = mock.admin.snapshot().state.tasks.map(({ type, status }) => `${type} ${status}`);
    expect(statuses.filter((status) => status === "TAX_PREP COMPLETED")).toHaveLength(500);
    expect(statuses.filter((status) => status === "TAX_REVIEW FAILED")).toHaveLength(500);
  });
});

describe("reading a scenario file", () => {
  for (const [text, message] of [
    ["{", "scenario: the text is not JSON"],
    ["[]", /^scenario: document: /],
    ['{"steps":[{"do":"dance"}]}', /^scenario: steps\.0\.do: /],
    ['{"steps":[{"do":"clear-faults","extra":1}]}', /^scenario: steps\.0: .*extra/],
    ['{"steps":[{"do":"repeat","times":2,"steps":[{"do":"advance"}]}]}', /^scenario: steps\.0\.steps\.0\.by/],
    ['{"steps":[{"do":"start-task","taskType":"BINDER","as":"1st"}]}', /expected a name such as firstTask/],
  ] as const) {
    test(`refuses ${text}`, () => {
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

  test("plays the file before the mock is ready", async () => {
    const { exitCode, stdout } = await run('{"steps":[{"do":"start-task","taskType":"BINDER"}]}');
    expect([exitCode, JSON.parse(stdout).ready]).toEqual([0, true]);
  });

  test("says in one sentence which step did not go, and does not start", async () => {
    const { exitCode, stdout, stderr } = await run('{"steps":[{"do":"advance","by":"1h"}]}');
    expect([exitCode, stdout]).toEqual([1, ""]);
    expect(stderr).toBe(
      "mock: scenario step 1 (advance): a real clock cannot be advanced; use a virtual one\n",
    );
  });

  test("says in one sentence what is wrong with the file", async () => {
    const { exitCode, path, stderr } = await run('{"steps":[{"do":"dance"}]}');
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      new RegExp(`^mock: --scenario: cannot read ${path}: scenario: steps.0.do: .*\\n$`),
    );
  });
});
