import { readFile } from "node:fs/promises";
import { createMockServer, type MockServer, type ScenarioInput } from "@workspace-tasks/mock-server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseScenario } from "../../../../../mock-server/control/scenarios/read-scenario.ts";
import { jsonPost } from "../../../../support/json-post.ts";

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

  it("rejects an invalid scenario over HTTP with the field, and executes nothing", async () => {
    const steps = [
      { do: "start-task", taskType: "BINDER" },
      { do: "advance-clock", by: "soon" },
    ];
    const response = await mock.fetch("/_mock/v1/scenarios", jsonPost({ steps }));
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

it.each([
  ["{", "the text is not JSON"],
  ['{"steps":[{"do":"dance"}]}', "steps.0.do: "],
  ['{"steps":[{"do":"repeat","times":2,"steps":[{"do":"advance-clock"}]}]}', "steps.0.steps.0.by"],
])("parseScenario rejects %s with the first place that is wrong", (text, message) => {
  expect(() => parseScenario(text)).toThrow(message);
});
