import { createMockServer } from "@workspace-tasks/mock-server";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  recordProgress,
  resumeProgress,
  setStageStatus,
  setTaskStatus,
  startTask,
} from "../../../../mock-server/rules/tasks.ts";
import type { TaskPlan, TaskRecord, TaskStatus } from "../../../../mock-server/state/records.ts";
import { createTestWorld, type TestWorld } from "../../../support/mock-world.ts";

const manual: TaskPlan = { progression: "manual", stages: [] };

const start = (fixture: TestWorld, plan: TaskPlan | null = manual, type = "TAX_PREP") =>
  startTask(fixture.world, { workspaceId: fixture.workspaceId, clientId: fixture.clientId, type, plan });

const statuses: readonly TaskStatus[] = ["RUNNING", "COMPLETED", "FAILED"];
const allowed = new Set(["RUNNING>COMPLETED", "RUNNING>FAILED", "FAILED>RUNNING"]);

describe("task status", () => {
  it("has three transitions only, each with one event and a later time, in any order of moves", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ status: fc.constantFrom(...statuses), waitMs: fc.constantFrom(0, 0, 1, 5) })),
        async (moves) => {
          const fixture = createTestWorld();
          fixture.addEndpoint();
          const task = start(fixture);
          const expected: TaskStatus[] = ["RUNNING"];
          for (const { status, waitMs } of moves) {
            await fixture.clock.advance(waitMs);
            const transition = `${task.status}>${status}`;
            const move = () => setTaskStatus(fixture.world, { taskId: task.id, status });
            if (allowed.has(transition)) {
              move();
              expected.push(status);
            } else {
              expect(move, transition).toThrow(/cannot become/);
            }
          }
          await fixture.clock.settle();
          const events = fixture.sent.map(({ event }) => event);
          expect(events.map(({ status }) => status)).toEqual(expected);
          expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
          const times = events.map(({ occurredAt }) => Date.parse(occurredAt));
          for (const [index, time] of times.entries()) {
            expect(time).toBeGreaterThan(times[index - 1] ?? 0);
          }
        },
      ),
      { numRuns: 50 },
    );
  });
});

describe("setStageStatus", () => {
  it("finishes a running stage, and starts and finishes one that was not started", () => {
    const fixture = createTestWorld();
    const task = start(fixture);
    const move = (subTaskType: string, status: TaskStatus) =>
      setStageStatus(fixture.world, { taskId: task.id, subTaskType, status });
    const running = move("review", "RUNNING");
    expect(move("review", "COMPLETED")).toBe(running);
    move("review", "FAILED");
    expect(task.stages.map(({ type, status }) => [type, status])).toEqual([
      ["review", "COMPLETED"],
      ["review", "FAILED"],
    ]);
  });

  it("throws for a stage that is already running, and for a task that is not running", () => {
    const fixture = createTestWorld();
    const task = start(fixture);
    const move = (status: TaskStatus) =>
      setStageStatus(fixture.world, { taskId: task.id, subTaskType: "review", status });
    move("RUNNING");
    expect(() => move("RUNNING")).toThrow('stage "review" is already RUNNING');
    setTaskStatus(fixture.world, { taskId: task.id, status: "COMPLETED" });
    expect(() => move("COMPLETED")).toThrow("the stages of a task that is COMPLETED do not change");
  });
});

const timed: TaskPlan = {
  progression: "timed",
  stages: [
    { type: "extraction", durationMs: 1_000 },
    { type: "review", durationMs: 2_000 },
  ],
};

const shape = ({ status, stages }: TaskRecord) => [
  status,
  ...stages.map(({ type, status }) => `${type} ${status}`),
];

describe("task plans", () => {
  it("timed: each stage takes its duration, then the task is completed", async () => {
    const fixture = createTestWorld();
    const task = start(fixture, timed);
    expect(shape(task)).toEqual(["RUNNING", "extraction RUNNING"]);
    await fixture.clock.advance(1_000);
    expect(shape(task)).toEqual(["RUNNING", "extraction COMPLETED", "review RUNNING"]);
    await fixture.clock.advance(1_999);
    expect(task.status).toBe("RUNNING");
    await fixture.clock.advance(1);
    expect(shape(task)).toEqual(["COMPLETED", "extraction COMPLETED", "review COMPLETED"]);
    expect(task.result).toMatchObject({ returnType: "F1040", taxYear: 2025 });
    expect(fixture.world.state.progress.size).toBe(0);
  });

  it("a failed stage fails the task, and later stages do not start", async () => {
    const fixture = createTestWorld();
    const customerError = { code: "DOCUMENT_UNREADABLE", action: { type: "REUPLOAD", connectionId: null } };
    const task = start(fixture, {
      progression: "timed",
      stages: [
        { type: "extraction", durationMs: 10, status: "FAILED", errorMessage: "blank page" },
        { type: "review", durationMs: 10 },
      ],
      outcome: { status: "FAILED", customerError },
    });
    await fixture.clock.advance(60_000);
    expect(shape(task)).toEqual(["FAILED", "extraction FAILED"]);
    expect(task).toMatchObject({ errorMessage: "extraction: blank page", customerError });
  });

  it("the plan's outcome decides how the task ends", async () => {
    const fixture = createTestWorld();
    const task = start(fixture, { ...timed, outcome: { status: "FAILED", errorMessage: "scripted" } });
    await fixture.clock.advance(3_000);
    expect(task).toMatchObject({ status: "FAILED", errorMessage: "scripted" });
  });

  it("a task moved by the control API no longer progresses by itself, also after it runs again", async () => {
    const fixture = createTestWorld();
    const task = start(fixture, timed);
    setTaskStatus(fixture.world, { taskId: task.id, status: "FAILED" });
    setTaskStatus(fixture.world, { taskId: task.id, status: "RUNNING" });
    await fixture.clock.advance(60_000);
    expect(shape(task)).toEqual(["RUNNING", "extraction RUNNING"]);
  });

  it("a stage finished by the control API is not finished again at its time", async () => {
    const fixture = createTestWorld();
    fixture.addEndpoint({ eventTypes: ["subtask.completed", "subtask.failed"] });
    const task = start(fixture, timed);
    setStageStatus(fixture.world, { taskId: task.id, subTaskType: "extraction", status: "FAILED" });
    await fixture.clock.advance(3_000);
    expect(shape(task)).toEqual(["COMPLETED", "extraction FAILED", "review COMPLETED"]);
    expect(fixture.sent.map(({ event }) => event.event)).toEqual(["subtask.failed", "subtask.completed"]);
  });
});

describe("a task type that is a name of Object.prototype", () => {
  const types = ["constructor", "__proto__"];

  it.each(types)("%s follows the plan of types without one of their own", async (type) => {
    const fixture = createTestWorld();
    const task = start(fixture, null, type);
    expect(task.stages.map((stage) => stage.type)).toEqual(["processing"]);
    const records = recordProgress(fixture.world);
    fixture.world.state.progress.clear();
    resumeProgress(fixture.world, records);
    await fixture.clock.advance("10s");
    expect(task.status).toBe("COMPLETED");
  });

  it.each(types)("%s can have a plan of its own, which survives a snapshot", async (type) => {
    await using mock = await createMockServer({ listen: false, clock: "virtual" });
    await mock.control.setTaskPlan(type, { progression: "manual" });
    await mock.control.restoreSnapshot(await mock.control.getSnapshot());
    const { taskId } = await mock.control.startTask({ taskType: type });
    await mock.clock.advance("10s");
    expect((await mock.control.getTask(taskId)).status).toBe("RUNNING");
  });
});

describe("the task plan of *", () => {
  it("set by the control API is that of types without a plan in the settings", async () => {
    await using mock = await createMockServer({ listen: false, clock: "virtual" });
    await mock.control.setTaskPlan("*", { stages: [{ type: "ours", durationMs: 1_000 }] });
    const stagesOf = async (taskType: string) => {
      const { taskId } = await mock.control.startTask({ taskType });
      await mock.clock.advance("10s");
      return (await mock.control.getTask(taskId)).subTasks.map(({ subTaskType }) => subTaskType);
    };
    expect(await stagesOf("NEW_KIND")).toEqual(["ours"]);
    expect(await stagesOf("TAX_ADVISOR")).toEqual(["analysis"]);
    await mock.control.setTaskPlan("NEW_KIND", { stages: [{ type: "own", durationMs: 1_000 }] });
    expect(await stagesOf("NEW_KIND")).toEqual(["own"]);
    await mock.control.setTaskPlan("NEW_KIND", {});
    await mock.control.setTaskPlan("*", {});
    expect(await stagesOf("NEW_KIND")).toEqual(["processing"]);
  });
});
