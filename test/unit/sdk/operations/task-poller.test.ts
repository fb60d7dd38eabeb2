import { getEventListeners } from "node:events";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import {
  createTasks,
  type RawTask,
  type Task,
  TaskFailedError,
  type WaitForTaskOptions,
} from "../../../../sdk/operations/tasks.ts";
import { clientOptionsOf, createFakeEngine } from "../../../support/engine-fixture.ts";
import { outcomeOf } from "../../../support/outcome-of.ts";
import { rawTask } from "./raw-task.ts";

/** A UUID for a name of at most six characters. */
const idOf = (name: string) =>
  `0197f0c2-1b3d-7000-8000-${Buffer.from(name).toString("hex").padStart(12, "0")}`;

const taskOf = (id: string, status: string, stages: readonly string[] = []): RawTask =>
  rawTask(id, status, {
    errorMessage: status === "FAILED" ? "page 3 of Ann's return is unreadable" : null,
    subTasks: stages.map((type, index) => ({
      id: `${id}-${index}`,
      type,
      status: "COMPLETED",
      startedAt: "2026-01-15T12:00:00.000Z",
      completedAt: null,
      errorMessage: null,
    })),
  });

type Variables = { readonly filters: { readonly ids: readonly string[] }; readonly limit: number };
const rateLimit = { limit: 120, windowMs: 60_000, used: 0, remaining: 120, queued: 0, nextSlotInMs: 0 };

interface WorldOptions {
  /** The state of a task at a time; undefined when it is not listed. */
  taskAt(id: string, atMs: number): RawTask | undefined;
  readonly pageMax?: number;
}

function setUp({ taskAt, pageMax = 1_000 }: WorldOptions) {
  const engine = createFakeEngine({
    rateLimit,
    respond(_, variables) {
      const { filters, limit } = variables as Variables;
      const listed = filters.ids.map((id) => taskAt(id, engine.clock.monotonic())).filter((task) => task);
      return {
        me: { __typename: "WorkspaceUser", workspace: { tasks: listed.slice(0, Math.min(limit, pageMax)) } },
      };
    },
  });
  const { waitFor } = createTasks(engine, clientOptionsOf(engine));
  return {
    engine,
    start: waitFor,
    wait: (id: string, options?: WaitForTaskOptions) => engine.clock.runUntil(waitFor(id, options)),
    polls: () => engine.sent.map(({ atMs }) => atMs),
  };
}

const completesAt = (doneAtMs: number) => (id: string, atMs: number) =>
  taskOf(id, atMs >= doneAtMs ? "COMPLETED" : "RUNNING");

describe("tasks.waitFor", () => {
  it("a wait doubles its interval up to the maximum while nothing changes", async () => {
    const { wait, polls } = setUp({ taskAt: completesAt(60_000) });
    await wait(idOf("t"));
    expect(polls()).toEqual([0, 2_000, 6_000, 14_000, 29_000, 44_000, 59_000, 74_000]);
  });

  it("a wait uses the first interval again after a stage has finished", async () => {
    const { wait, polls } = setUp({
      taskAt: (id, atMs) =>
        taskOf(id, atMs >= 40_000 ? "COMPLETED" : "RUNNING", atMs >= 14_000 ? ["tax-extraction"] : []),
    });
    await wait(idOf("t"));
    expect(polls().slice(0, 5)).toEqual([0, 2_000, 6_000, 14_000, 16_000]);
  });

  it("a wait reports the task when it is first found and at every change only", async () => {
    const seen: Task[] = [];
    const { wait } = setUp({
      taskAt: (id, atMs) =>
        taskOf(id, atMs >= 40_000 ? "COMPLETED" : "RUNNING", atMs >= 10_000 ? ["tax-extraction"] : []),
    });
    await wait(idOf("t"), { onProgress: (task) => seen.push(task) });
    expect(seen.map(({ status, subTasks }) => [status, subTasks.length])).toEqual([
      ["RUNNING", 0],
      ["RUNNING", 1],
      ["COMPLETED", 1],
    ]);
  });

  it("a wait continues at an unknown status", async () => {
    const { wait } = setUp({
      taskAt: (id, atMs) => taskOf(id, atMs < 5_000 ? "QUEUED" : atMs < 9_000 ? "RUNNING" : "COMPLETED"),
    });
    expect((await wait(idOf("t"))).status).toBe("COMPLETED");
  });

  it("a wait for a task that fails rejects with the task, and prints nothing of its content", async () => {
    const { wait } = setUp({ taskAt: (id) => taskOf(id, "FAILED") });
    const error = await outcomeOf(wait(idOf("t")));
    expect(error).toBeInstanceOf(TaskFailedError);
    expect(error).toMatchObject({ code: "TASK_FAILED", message: `tasks.waitFor: task ${idOf("t")} failed` });
    expect((error as TaskFailedError).task.errorMessage).toContain("Ann");
    expect(`${inspect(error, { depth: 9 })} ${JSON.stringify(error)}`).not.toContain("Ann");
  });

  it("a wait finds a task that appears in its third poll", async () => {
    const { wait } = setUp({
      taskAt: (id, atMs) => (atMs < 4_000 ? undefined : taskOf(id, "COMPLETED")),
    });
    expect((await wait(idOf("t"))).status).toBe("COMPLETED");
  });

  it("a wait fails after three polls in a row without the task", async () => {
    const { wait, polls } = setUp({ taskAt: () => undefined });
    await expect(wait(idOf("t"))).rejects.toMatchObject({ code: "NOT_FOUND", attempts: 3 });
    expect(polls()).toHaveLength(3);
  });
});

describe("onProgress of a wait", () => {
  it("a task is not polled again before the promise of onProgress has resolved", async () => {
    const { start, engine, polls } = setUp({ taskAt: completesAt(20_000) });
    let resolve = () => {};
    const onProgress = () =>
      new Promise<void>((done) => {
        resolve = done;
      });
    const waiting = start(idOf("t"), { onProgress });
    const other = start(idOf("u"));
    await engine.clock.advance(10_000);
    expect(polls()).toHaveLength(3);
    expect(engine.sent.slice(1).map(({ variables }) => (variables as Variables).filters.ids)).toEqual([
      [idOf("u")],
      [idOf("u")],
    ]);
    resolve();
    await engine.clock.advance(20_000);
    resolve();
    expect((await waiting).status).toBe("COMPLETED");
    expect((await other).status).toBe("COMPLETED");
  });

  it("a wait fails with a typed error when the promise of onProgress rejects", async () => {
    const { wait } = setUp({ taskAt: completesAt(20_000) });
    const onProgress = async () => {
      throw new Error("the database is gone");
    };
    expect(await outcomeOf(wait(idOf("t"), { onProgress }))).toMatchObject({
      code: "ON_PROGRESS_FAILED",
      attempts: 1,
      cause: { message: "the database is gone" },
    });
  });

  it("a wait ends with its deadline before onProgress settles, and a rejection after that is handled", async () => {
    const { wait, engine } = setUp({ taskAt: completesAt(0) });
    let reject = (_: Error) => {};
    const onProgress = () =>
      new Promise((_, fail) => {
        reject = fail;
      });
    const ended = await outcomeOf(wait(idOf("t"), { onProgress, deadlineMs: 5_000 }));
    expect(ended).toMatchObject({ code: "DEADLINE_EXCEEDED" });
    reject(new Error("late"));
    await engine.clock.settle();
    expect(engine.clock.pending().timers).toBe(0);
  });
});

describe("the end of a wait", () => {
  it("a wait without a deadline fails after an hour", async () => {
    const { wait, engine } = setUp({ taskAt: completesAt(1e9) });
    await expect(wait(idOf("t"))).rejects.toMatchObject({ code: "DEADLINE_EXCEEDED" });
    expect(engine.clock.monotonic()).toBe(3_600_000);
  });

  it("an aborted wait fails at once, aborts its poll, and leaves no listener and no timer", async () => {
    let pollSignal: AbortSignal | undefined;
    const engine = createFakeEngine({
      respond: (_, __, call) => {
        pollSignal = call.signal;
        return new Promise(() => {});
      },
    });
    const { waitFor } = createTasks(engine, clientOptionsOf(engine));
    const controller = new AbortController();
    const outcome = outcomeOf(waitFor(idOf("t"), { signal: controller.signal }));
    await engine.clock.settle();
    controller.abort(new Error("enough"));
    expect(await outcome).toMatchObject({ code: "ABORTED", cause: { message: "enough" } });
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
    expect(engine.clock.pending().timers).toBe(0);
    expect(pollSignal?.aborted).toBe(true);
  });

  it("a wait with an aborted signal fails without a request", async () => {
    const { start, engine } = setUp({ taskAt: completesAt(0) });
    const outcome = outcomeOf(start(idOf("t"), { signal: AbortSignal.abort() }));
    await engine.clock.settle();
    expect(await outcome).toMatchObject({ code: "ABORTED" });
    expect(engine.sent).toEqual([]);
  });

  it("an aborted wait reports nothing, although a poll is in flight", async () => {
    let respond = () => {};
    const engine = createFakeEngine({
      respond: () =>
        new Promise((resolve) => {
          respond = () =>
            resolve({
              me: {
                __typename: "WorkspaceUser",
                workspace: { tasks: [taskOf(idOf("a"), "RUNNING"), taskOf(idOf("b"), "COMPLETED")] },
              },
            });
        }),
    });
    const { waitFor } = createTasks(engine, clientOptionsOf(engine));
    const controller = new AbortController();
    const reported: string[] = [];
    const onProgress = ({ id }: Task) => reported.push(id);
    const ended = outcomeOf(waitFor(idOf("a"), { signal: controller.signal, onProgress }));
    const other = waitFor(idOf("b"), { onProgress });
    await engine.clock.settle();
    controller.abort();
    await ended;
    respond();
    await other;
    expect(reported).toEqual([idOf("b")]);
  });

  it("waits fail when the client is closed, and new ones at once", async () => {
    const { start, engine } = setUp({ taskAt: completesAt(1e9) });
    const outcome = outcomeOf(start(idOf("t")));
    await engine.clock.settle();
    await engine.close();
    expect(await outcome).toMatchObject({ code: "CLIENT_CLOSED" });
    expect(await outcomeOf(start(idOf("t")))).toMatchObject({ code: "CLIENT_CLOSED" });
    expect(engine.clock.pending().timers).toBe(0);
  });
});

describe("concurrent waits", () => {
  const ids = Array.from({ length: 100 }, (_, index) => idOf(`t-${index}`));

  it("100 waits cost no more requests than one", async () => {
    const one = setUp({ taskAt: completesAt(60_000) });
    await one.wait(idOf("t-0"));
    const many = setUp({ taskAt: completesAt(60_000) });
    await many.engine.clock.runUntil(Promise.all(ids.map((id) => many.start(id))));
    expect(many.polls()).toEqual(one.polls());
  });

  it("waits for the same task share its id in a request, and all resolve", async () => {
    const { start, engine } = setUp({ taskAt: completesAt(10_000) });
    const both = await engine.clock.runUntil(Promise.all([start(idOf("t")), start(idOf("t"))]));
    expect(both.map(({ id }) => id)).toEqual([idOf("t"), idOf("t")]);
    expect(engine.sent[0]?.variables).toMatchObject({ filters: { ids: [idOf("t")] } });
  });

  it("250 waits poll 100 tasks at a time in turn, and all resolve", async () => {
    const { start, engine, polls } = setUp({ taskAt: completesAt(10_000) });
    const waits = Array.from({ length: 250 }, (_, index) => start(idOf(`t-${index}`)));
    await engine.clock.runUntil(Promise.all(waits));
    const requested = engine.sent.map(({ variables }) => (variables as Variables).filters.ids);
    expect(requested.map((taskIds) => taskIds.length).slice(0, 3)).toEqual([100, 100, 100]);
    expect(new Set(requested.slice(0, 3).flat()).size).toBe(250);
    expect(polls().slice(0, 3)).toEqual([0, 2_000, 4_000]);
  });

  it("2,000 waits use at most a quarter of the rate limit", async () => {
    const { start, engine, polls } = setUp({ taskAt: completesAt(1e9) });
    const options = { deadlineMs: 300_000 };
    const waits = Array.from({ length: 2_000 }, (_, index) => outcomeOf(start(idOf(`t-${index}`), options)));
    await engine.clock.runUntil(Promise.all(waits));
    expect(polls().length).toBeLessThanOrEqual((0.25 * 120 * 300) / 60 + 3);
    expect(polls().length).toBeGreaterThan(100);
  });

  it("waits resolve although the service limits its pages below the ids requested", async () => {
    const { start, engine } = setUp({ taskAt: completesAt(10_000), pageMax: 20 });
    const waits = Array.from({ length: 50 }, (_, index) => start(idOf(`t-${index}`)));
    expect(await engine.clock.runUntil(Promise.all(waits))).toHaveLength(50);
  });

  it("waits that begin one after the other share their polls", async () => {
    const { start, engine, polls } = setUp({ taskAt: completesAt(120_000) });
    const waits: Promise<Task>[] = [];
    for (let index = 0; index < 20; index += 1) {
      waits.push(start(idOf(`t-${index}`)));
      await engine.clock.advance(100);
    }
    await engine.clock.runUntil(Promise.all(waits));
    expect(polls().length).toBeLessThan(30);
  });
});
