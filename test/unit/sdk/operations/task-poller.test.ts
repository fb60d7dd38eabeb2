import { getEventListeners } from "node:events";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { WorkspaceTasksError } from "../../../../sdk/errors.ts";
import type { RawTask, Task } from "../../../../sdk/operations/task.ts";
import { createTaskPoller, TaskFailedError } from "../../../../sdk/operations/task-poller.ts";
import { createTasks, type WaitForOptions } from "../../../../sdk/operations/tasks.ts";
import { advanceUntilSettled } from "../../../support/advance-until-settled.ts";
import { createFakeEngine } from "../../../support/fake-engine.ts";
import { outcomeOf } from "../../../support/outcome-of.ts";

const taskOf = (id: string, status: string, stages: readonly string[] = []): RawTask => ({
  id,
  type: "TAX_PREP",
  status: status as RawTask["status"],
  startedAt: "2026-01-15T12:00:00.000Z",
  completedAt: null,
  errorMessage: status === "FAILED" ? "page 3 of Ann's return is unreadable" : null,
  attributes: [],
  subTasks: stages.map((type, index) => ({
    id: `${id}-${index}`,
    type,
    status: "COMPLETED",
    startedAt: "2026-01-15T12:00:00.000Z",
    completedAt: null,
    errorMessage: null,
  })),
  result: { __typename: "TaskUnknownResult", taskType: "TAX_PREP" },
  client: null,
  triggeredBy: null,
});

type Variables = { readonly filters: { readonly ids: readonly string[] }; readonly limit: number };
const rateLimit = {
  limit: 120,
  windowMs: 60_000,
  used: 0,
  remaining: 120,
  queued: 0,
  nextSlotInMs: 0,
};

interface WorldOptions {
  /** The state of a task at a time; undefined when it is not listed. */
  taskAt(id: string, atMs: number): RawTask | undefined;
  /** Thrown in place of an answer. */
  failAt?(look: number): Error | undefined;
  readonly pageMax?: number;
}

function setUp({ taskAt, failAt, pageMax = 1_000 }: WorldOptions) {
  const engine = createFakeEngine({
    rateLimit,
    respond(_, variables) {
      const failure = failAt?.(engine.sent.length);
      if (failure) throw failure;
      const { filters, limit } = variables as Variables;
      const listed = filters.ids.map((id) => taskAt(id, engine.clock.monotonic())).filter((task) => task);
      return {
        me: { __typename: "WorkspaceUser", workspace: { tasks: listed.slice(0, Math.min(limit, pageMax)) } },
      };
    },
  });
  const { waitFor } = createTasks(engine.send, createTaskPoller(engine, engine.clock));
  return {
    engine,
    start: waitFor,
    wait: (id: string, options?: WaitForOptions) => advanceUntilSettled(engine.clock, waitFor(id, options)),
    looks: () => engine.sent.map(({ atMs }) => atMs),
  };
}

const completesAt = (doneAtMs: number) => (id: string, atMs: number) =>
  taskOf(id, atMs >= doneAtMs ? "COMPLETED" : "RUNNING");
const failWith = (code: "NETWORK_FAILED" | "SERVICE_UNAVAILABLE" | "API_KEY_REJECTED") =>
  new WorkspaceTasksError(code, "x", { outcome: "unknown" });

describe("waiting for a task", () => {
  test("resolves to the task once it is completed", async () => {
    const { wait } = setUp({ taskAt: completesAt(30_000) });
    expect(await wait("t")).toMatchObject({ id: "t", status: "COMPLETED" });
  });

  test("resolves at the first look when it was completed before", async () => {
    const { wait, looks } = setUp({ taskAt: completesAt(0) });
    await wait("t");
    expect(looks()).toEqual([0]);
  });

  test("looks often at first and ever more seldom while nothing changes", async () => {
    const { wait, looks } = setUp({ taskAt: completesAt(60_000) });
    await wait("t");
    expect(looks()).toEqual([0, 2_000, 6_000, 14_000, 29_000, 44_000, 59_000, 74_000]);
  });

  test("looks often again after a stage has finished", async () => {
    const { wait, looks } = setUp({
      taskAt: (id, atMs) =>
        taskOf(id, atMs >= 40_000 ? "COMPLETED" : "RUNNING", atMs >= 14_000 ? ["tax-extraction"] : []),
    });
    await wait("t");
    expect(looks().slice(0, 5)).toEqual([0, 2_000, 6_000, 14_000, 16_000]);
  });

  test("reports the task when it is first seen and at every change, and not between", async () => {
    const seen: Task[] = [];
    const { wait } = setUp({
      taskAt: (id, atMs) =>
        taskOf(id, atMs >= 40_000 ? "COMPLETED" : "RUNNING", atMs >= 10_000 ? ["tax-extraction"] : []),
    });
    await wait("t", { onProgress: (task) => seen.push(task) });
    expect(seen.map(({ status, subTasks }) => [status, subTasks.length])).toEqual([
      ["RUNNING", 0],
      ["RUNNING", 1],
      ["COMPLETED", 1],
    ]);
  });

  test("waits on through a status that this version does not know", async () => {
    const { wait } = setUp({
      taskAt: (id, atMs) => taskOf(id, atMs < 5_000 ? "QUEUED" : atMs < 9_000 ? "RUNNING" : "COMPLETED"),
    });
    expect((await wait("t")).status).toBe("COMPLETED");
  });

  test("rejects with the task when it fails, and prints nothing of what it is about", async () => {
    const { wait } = setUp({ taskAt: (id) => taskOf(id, "FAILED") });
    const error = await outcomeOf(wait("t"));
    expect(error).toBeInstanceOf(TaskFailedError);
    expect(error).toMatchObject({ code: "TASK_FAILED", message: "task t failed" });
    expect((error as TaskFailedError).task.errorMessage).toContain("Ann");
    expect(`${inspect(error, { depth: 9 })} ${JSON.stringify(error)}`).not.toContain("Ann");
  });

  test("gives a task that was just started three looks to appear", async () => {
    const { wait } = setUp({
      taskAt: (id, atMs) => (atMs < 4_000 ? undefined : taskOf(id, "COMPLETED")),
    });
    expect((await wait("t")).status).toBe("COMPLETED");
  });

  test("rejects when the task is not there in three looks", async () => {
    const { wait, looks } = setUp({ taskAt: () => undefined });
    await expect(wait("t")).rejects.toMatchObject({ code: "NOT_FOUND", attempts: 3 });
    expect(looks()).toHaveLength(3);
  });

  test("polls over failures that pass", async () => {
    const { wait } = setUp({
      taskAt: completesAt(20_000),
      failAt: (look) => (look === 2 || look === 3 ? failWith("SERVICE_UNAVAILABLE") : undefined),
    });
    expect((await wait("t")).status).toBe("COMPLETED");
  });

  test("rejects at once with a failure that polling cannot mend", async () => {
    const { wait, looks } = setUp({
      taskAt: completesAt(20_000),
      failAt: () => failWith("API_KEY_REJECTED"),
    });
    await expect(wait("t")).rejects.toMatchObject({ code: "API_KEY_REJECTED" });
    expect(looks()).toHaveLength(1);
  });

  test("rejects with the error of an onProgress that throws", async () => {
    const { wait } = setUp({ taskAt: completesAt(0) });
    const onProgress = () => {
      throw new Error("mine");
    };
    await expect(wait("t", { onProgress })).rejects.toThrow("mine");
  });
});

describe("a wait ends", () => {
  test("at its deadline, naming the failure that it met last", async () => {
    const { wait } = setUp({ taskAt: completesAt(1e9), failAt: () => failWith("NETWORK_FAILED") });
    const error = await outcomeOf(wait("t", { deadlineMs: 30_000 }));
    expect(error).toMatchObject({ code: "DEADLINE_EXCEEDED", cause: { code: "NETWORK_FAILED" } });
  });

  test("after an hour when no deadline is given", async () => {
    const { wait, engine } = setUp({ taskAt: completesAt(1e9) });
    await expect(wait("t")).rejects.toMatchObject({ code: "DEADLINE_EXCEEDED" });
    expect(engine.clock.monotonic()).toBe(3_600_000);
  });

  test("by its signal at once, leaving no listener and no timer, and its look is called off", async () => {
    let lookSignal: AbortSignal | undefined;
    const engine = createFakeEngine({
      respond: (_, __, call) => {
        lookSignal = call.signal;
        return new Promise(() => {});
      },
    });
    const { waitFor } = createTasks(engine.send, createTaskPoller(engine, engine.clock));
    const controller = new AbortController();
    const outcome = outcomeOf(waitFor("t", { signal: controller.signal }));
    await engine.clock.settle();
    controller.abort(new Error("enough"));
    expect(await outcome).toMatchObject({ code: "ABORTED", cause: { message: "enough" } });
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
    expect(engine.clock.pending().timers).toBe(0);
    expect(lookSignal?.aborted).toBe(true);
  });

  test("by a signal that was aborted before, without a request", async () => {
    const { start, engine } = setUp({ taskAt: completesAt(0) });
    const outcome = outcomeOf(start("t", { signal: AbortSignal.abort() }));
    await engine.clock.settle();
    expect(await outcome).toMatchObject({ code: "ABORTED" });
    expect(engine.sent).toEqual([]);
  });

  test("and reports nothing after that, though a look was under way", async () => {
    let answer = () => {};
    const engine = createFakeEngine({
      respond: () =>
        new Promise((resolve) => {
          answer = () =>
            resolve({
              me: {
                __typename: "WorkspaceUser",
                workspace: { tasks: [taskOf("a", "RUNNING"), taskOf("b", "COMPLETED")] },
              },
            });
        }),
    });
    const { waitFor } = createTasks(engine.send, createTaskPoller(engine, engine.clock));
    const controller = new AbortController();
    const reported: string[] = [];
    const onProgress = ({ id }: Task) => reported.push(id);
    const ended = outcomeOf(waitFor("a", { signal: controller.signal, onProgress }));
    const other = waitFor("b", { onProgress });
    await engine.clock.settle();
    controller.abort();
    await ended;
    answer();
    await other;
    expect(reported).toEqual(["b"]);
  });

  test("when the client closes, and no new one begins", async () => {
    const { start, engine } = setUp({ taskAt: completesAt(1e9) });
    const outcome = outcomeOf(start("t"));
    await engine.clock.settle();
    await engine.close();
    expect(await outcome).toMatchObject({ code: "CLIENT_CLOSED" });
    expect(await outcomeOf(start("t"))).toMatchObject({ code: "CLIENT_CLOSED" });
    expect(engine.clock.pending().timers).toBe(0);
  });

  test("alone: the other waits go on", async () => {
    const { start, engine } = setUp({ taskAt: completesAt(20_000) });
    const controller = new AbortController();
    const ended = outcomeOf(start("a", { signal: controller.signal }));
    const other = start("b");
    await engine.clock.advance(3_000);
    controller.abort();
    expect(await ended).toMatchObject({ code: "ABORTED" });
    expect((await advanceUntilSettled(engine.clock, other)).id).toBe("b");
  });
});

describe("many waits", () => {
  const ids = Array.from({ length: 100 }, (_, index) => `t-${index}`);

  test("share their looks: 100 cost no more requests than one", async () => {
    const one = setUp({ taskAt: completesAt(60_000) });
    await one.wait("t-0");
    const many = setUp({ taskAt: completesAt(60_000) });
    await advanceUntilSettled(many.engine.clock, Promise.all(ids.map((id) => many.start(id))));
    expect(many.looks()).toEqual(one.looks());
  });

  test("would cost a hundred times as many if each client waited for itself", async () => {
    const alone = ids.map(() => setUp({ taskAt: completesAt(60_000) }));
    await Promise.all(alone.map(({ wait }) => wait("t")));
    expect(alone.flatMap(({ looks }) => looks())).toHaveLength(800);
  });

  test("for the same task each get it", async () => {
    const { start, engine } = setUp({ taskAt: completesAt(10_000) });
    const both = await advanceUntilSettled(engine.clock, Promise.all([start("t"), start("t")]));
    expect(both.map(({ id }) => id)).toEqual(["t", "t"]);
    expect(engine.sent[0]?.variables).toMatchObject({ filters: { ids: ["t"] } });
  });

  test("of more than 100 tasks ask for 100 at a time, in turn, and all come home", async () => {
    const { start, engine, looks } = setUp({ taskAt: completesAt(10_000) });
    const waits = Array.from({ length: 250 }, (_, index) => start(`t-${index}`));
    await advanceUntilSettled(engine.clock, Promise.all(waits));
    const asked = engine.sent.map(({ variables }) => (variables as Variables).filters.ids);
    expect(asked.map((taskIds) => taskIds.length).slice(0, 3)).toEqual([100, 100, 100]);
    expect(new Set(asked.slice(0, 3).flat()).size).toBe(250);
    expect(looks().slice(0, 3)).toEqual([0, 2_000, 4_000]);
  });

  test("never take more than a quarter of the allowance, however often they want to look", async () => {
    const { start, engine, looks } = setUp({ taskAt: completesAt(1e9) });
    const options = { pollIntervalMs: 1, pollIntervalMsMax: 1, deadlineMs: 300_000 };
    const waits = Array.from({ length: 250 }, (_, index) => outcomeOf(start(`t-${index}`, options)));
    await advanceUntilSettled(engine.clock, Promise.all(waits));
    expect(looks().length).toBeLessThanOrEqual((0.25 * 120 * 300) / 60 + 3);
    expect(looks().length).toBeGreaterThan(100);
  });

  test("survive a service that caps its pages below what it was asked for", async () => {
    const { start, engine } = setUp({ taskAt: completesAt(10_000), pageMax: 20 });
    const waits = Array.from({ length: 50 }, (_, index) => start(`t-${index}`));
    expect(await advanceUntilSettled(engine.clock, Promise.all(waits))).toHaveLength(50);
  });

  test("in their thousands begin and end without slowing each other down", async () => {
    const { start, engine } = setUp({ taskAt: completesAt(0) });
    const waits = Array.from({ length: 5_000 }, (_, index) => start(`t-${index}`));
    const startedAt = performance.now();
    expect(await advanceUntilSettled(engine.clock, Promise.all(waits))).toHaveLength(5_000);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  test("that begin one after the other still look together", async () => {
    const { start, engine, looks } = setUp({ taskAt: completesAt(120_000) });
    const waits: Promise<Task>[] = [];
    for (let index = 0; index < 20; index += 1) {
      waits.push(start(`t-${index}`));
      await engine.clock.advance(100);
    }
    await advanceUntilSettled(engine.clock, Promise.all(waits));
    expect(looks().length).toBeLessThan(30);
  });
});
