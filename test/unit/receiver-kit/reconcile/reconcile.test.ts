import type { ReconcilableTask, ReconcileClient } from "@workspace-tasks/receiver-kit";
import { NonRetryableError } from "@workspace-tasks/receiver-kit";
import { describe, expect, it } from "vitest";
import type { ReconcilableStage } from "../../../../receiver-kit/event/reconcile-client.ts";
import { instant } from "../../../support/inbox-rows.ts";
import { memoryInbox } from "../../../support/inbox-stores.ts";
import {
  countStates,
  createFixtureClock,
  createReceiverFixture,
  type ReceiverFixture,
} from "../../../support/receiver-fixture.ts";
import { completedEvent, sampleEvent } from "../../../support/sample-event.ts";

/** The tasks API as a list in memory, newest first; keeps what was asked of it. */
function tasksApi(tasks: readonly ReconcilableTask[]) {
  const asked: (readonly string[] | string)[] = [];
  const client: ReconcileClient = {
    me: async () => ({ __typename: "WorkspaceUser", workspace: { id: "workspace-1" } }),
    tasks: {
      async *list({ ids }) {
        asked.push(ids ?? "all");
        yield* ids ? tasks.filter(({ id }) => ids.includes(id)) : tasks;
      },
    },
  };
  return { client, asked };
}

function task(id: string, fields: Partial<ReconcilableTask> = {}): ReconcilableTask {
  return {
    id,
    type: "TAX_PREP",
    status: "COMPLETED",
    startedAt: instant(1),
    completedAt: instant(5),
    errorMessage: null,
    subTasks: [],
    client: { id: "client-1" },
    ...fields,
  };
}

function stage(id: string, fields: Partial<ReconcilableStage> = {}): ReconcilableStage {
  return {
    id,
    type: "tax-extraction",
    status: "COMPLETED",
    startedAt: instant(1),
    completedAt: instant(2),
    ...fields,
  };
}

/** A started receiver that notes what its state handlers see. */
async function watchingScene(options: Parameters<typeof createReceiverFixture>[0] = {}) {
  const fixture = createReceiverFixture(options);
  const states: string[] = [];
  const events: string[] = [];
  fixture.receiver.onState(
    "task",
    ({ taskId, status }, { channel }) => void states.push(`${taskId} ${status} ${channel}`),
  );
  fixture.receiver.onState("subtask", ({ subTaskId, status }) => void states.push(`${subTaskId} ${status}`));
  fixture.receiver.on("*", ({ event }) => void events.push(event));
  await fixture.receiver.start();
  return { ...fixture, states, events, [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose]() };
}

/** A task that has been running for so long that it is fetched. */
async function runFor15Minutes(fixture: ReceiverFixture, ...taskIds: string[]): Promise<void> {
  for (const taskId of taskIds)
    await deliverAndSettle(fixture, sampleEvent({ taskId, occurredAt: instant(1) }));
  await fixture.clock.advance(900_000);
}

async function deliverAndSettle(fixture: ReceiverFixture, event: Record<string, unknown>, id?: string) {
  await fixture.deliver(event, id);
  await fixture.clock.settle();
}

describe("receiver.reconcile", () => {
  it("fetches tasks that have been running for too long in one request, and applies what is newer", async () => {
    await using fixture = await watchingScene();
    await deliverAndSettle(fixture, sampleEvent({ taskId: "missed", occurredAt: instant(1) }));
    await deliverAndSettle(fixture, sampleEvent({ taskId: "still-running", occurredAt: instant(1) }));
    await deliverAndSettle(fixture, completedEvent({ taskId: "finished", occurredAt: instant(2) }));
    await fixture.clock.advance(900_000);
    const api = tasksApi([task("missed"), task("still-running", { status: "RUNNING", completedAt: null })]);
    expect(await fixture.receiver.reconcile(api.client, { sinceMs: 0 })).toEqual({
      examined: 2,
      enqueued: 1,
      corrected: 0,
      unchanged: 1,
      disputed: 0,
      missing: 0,
      otherWorkspaces: 0,
      untrustedTimes: 0,
    });
    await fixture.clock.settle();
    expect(api.asked.map((ids) => [...ids].toSorted())).toEqual([["missed", "still-running"]]);
    expect(fixture.states.at(-1)).toBe("missed COMPLETED reconcile");
    // Nothing was delivered, so nothing that counts deliveries hears of it.
    expect(fixture.events).toEqual(["task.running", "task.running", "task.completed"]);
  });

  it("does not fetch tasks with a recent event", async () => {
    await using fixture = await watchingScene();
    await deliverAndSettle(fixture, sampleEvent({ taskId: "young", occurredAt: instant(1) }));
    await fixture.clock.advance(899_999);
    const api = tasksApi([]);
    expect((await fixture.receiver.reconcile(api.client, { sinceMs: 0 })).examined).toBe(0);
    expect(api.asked).toEqual([]);
  });

  it("drops a response that a delivery has overtaken meanwhile", async () => {
    await using fixture = await watchingScene();
    await runFor15Minutes(fixture, "task-1");
    const old = task("task-1", { status: "FAILED", completedAt: instant(5) });
    async function* list() {
      // While the response is in flight, the task runs again and completes.
      await deliverAndSettle(fixture, completedEvent({ taskId: "task-1", occurredAt: instant(9) }));
      yield old;
    }
    const report = await fixture.receiver.reconcile({ tasks: { list } }, { sinceMs: 0 });
    expect(report).toMatchObject({ enqueued: 0, disputed: 1 });
    expect(fixture.states.at(-1)).toBe("task-1 COMPLETED webhook");
  });

  it("lets the delivery of the same change be applied afterwards, because it contains more", async () => {
    await using fixture = await watchingScene();
    await runFor15Minutes(fixture, "task-1");
    const { client } = tasksApi([task("task-1")]);
    await fixture.receiver.reconcile(client);
    await fixture.clock.settle();
    expect(await fixture.receiver.reconcile(client)).toMatchObject({ enqueued: 0, disputed: 0 });
    await deliverAndSettle(fixture, completedEvent({ taskId: "task-1", occurredAt: instant(5) }));
    expect(fixture.states.slice(1)).toEqual(["task-1 COMPLETED reconcile", "task-1 COMPLETED webhook"]);
    expect(await fixture.receiver.reconcile(client, { runningForMs: 1 })).toMatchObject({ enqueued: 0 });
  });

  it("fetches tasks with dead or quarantined events, and applies their stages too", async () => {
    await using fixture = createReceiverFixture({ retry: { attemptsMax: 1 } });
    const states: string[] = [];
    fixture.receiver.onState("task", ({ taskId, status }, { channel }) => {
      if (channel === "webhook") throw new Error("cannot be applied");
      states.push(`${taskId} ${status}`);
    });
    fixture.receiver.onState("subtask", ({ subTaskId, subTaskType, status }) => {
      states.push(`${subTaskId} ${subTaskType} ${status}`);
    });
    await fixture.receiver.start();
    await deliverAndSettle(fixture, completedEvent({ taskId: "dead", occurredAt: instant(4) }));
    const odd = { event: "task.completed", taskId: "odd", occurredAt: "yesterday" };
    await deliverAndSettle(fixture, odd, "odd");
    const { client } = tasksApi([
      task("dead", { subTasks: [stage("s-1"), stage("s-2", { status: "RUNNING", completedAt: null })] }),
      task("odd", { subTasks: [stage("s-3", { status: "FAILED" })] }),
    ]);
    expect(await fixture.receiver.reconcile(client)).toMatchObject({ examined: 2, enqueued: 4, missing: 0 });
    await fixture.clock.settle();
    expect(states.toSorted()).toEqual([
      "dead COMPLETED",
      "odd COMPLETED",
      "s-1 tax-extraction COMPLETED",
      "s-3 tax-extraction FAILED",
    ]);
  });

  it.each([
    ["with its body, becomes pending again", 1e12, 1, 0],
    ["without its body, is applied by another row", 0, 2, 2],
  ])("a dead event of an earlier reconciliation, %s", async (_, unhandledBodiesMs, dead, left) => {
    await using fixture = await watchingScene();
    let broken = true;
    fixture.receiver.onState("task", (_, { channel }) => {
      if (channel === "reconcile" && broken) throw new NonRetryableError("not yet");
    });
    await runFor15Minutes(fixture, "task-1");
    const { client } = tasksApi([task("task-1")]);
    const reconcile = async () => {
      const { enqueued } = await fixture.receiver.reconcile(client);
      await fixture.clock.settle();
      const keep = { bodiesMs: 1e12, rowsMs: 1e12, headsMs: 1e12 };
      await fixture.inbox.purge({ ...keep, unhandledBodiesMs }, 100);
      return { enqueued, rows: { dead: 0, ...(await countStates(fixture.inbox)) } };
    };
    expect(await reconcile()).toMatchObject({ enqueued: 1, rows: { done: 1, dead: 1 } });
    expect(await reconcile()).toMatchObject({ enqueued: 1, rows: { done: 1, dead } });
    broken = false;
    expect(await reconcile()).toMatchObject({ enqueued: 1, rows: { done: 2, dead: left } });
    expect(await reconcile()).toMatchObject({ enqueued: 0 });
  });

  it("fails when the inbox says of every row that it is dead and has no body", async () => {
    await using fixture = await watchingScene();
    await runFor15Minutes(fixture, "task-1");
    let inserted = 0;
    Object.assign(fixture.inbox, {
      insert: async () => {
        inserted += 1;
        return { outcome: "duplicate", sameBody: null };
      },
      get: async () => ({ state: "dead", body: null }),
    });
    const { client } = tasksApi([task("task-1")]);
    await expect(fixture.receiver.reconcile(client)).rejects.toMatchObject({
      code: "INBOX_UNAVAILABLE",
      message: expect.stringMatching(
        /expected the inbox to store .*"task-1".* or one of 99 copies of it, got only dead rows .*discard them/,
      ),
    });
    expect(inserted).toBe(100);
  });

  it("leaves discarded events alone", async () => {
    await using fixture = await watchingScene();
    fixture.receiver.onState("task", (_, { channel }) => {
      if (channel === "reconcile") throw new NonRetryableError("never");
    });
    await runFor15Minutes(fixture, "task-1");
    const { client } = tasksApi([task("task-1")]);
    await fixture.receiver.reconcile(client);
    await fixture.clock.settle();
    const [dead] = await fixture.inbox.list({ states: ["dead"] });
    expect(dead && (await fixture.inbox.discard(dead))).toBe(true);
    expect(await fixture.receiver.reconcile(client)).toMatchObject({ enqueued: 0 });
    expect(await countStates(fixture.inbox)).toMatchObject({ discarded: 1 });
    expect((await fixture.inbox.stats()).rows.waiting).toBe(0);
  });

  it("counts tasks that the API does not have, and skips statuses that were added later", async () => {
    await using fixture = await watchingScene();
    await runFor15Minutes(fixture, "gone", "paused");
    const { client } = tasksApi([task("paused", { status: "PAUSED" })]);
    const report = await fixture.receiver.reconcile(client);
    expect(report).toMatchObject({ examined: 1, enqueued: 0, missing: 1, otherWorkspaces: 0 });
  });

  it("passes an event of the usual shape to state handlers", async () => {
    await using fixture = createReceiverFixture();
    const seen: object[] = [];
    fixture.receiver.onState("task", (event) => void seen.push(event));
    await fixture.receiver.start();
    const result = { __typename: "TaskTaxPrepResult", taxYear: 2025, returnType: "F1040" };
    const { client } = tasksApi([task("task-1", { result })]);
    await fixture.receiver.reconcile(client, { sinceMs: 365 * 86_400_000 });
    await fixture.clock.settle();
    expect(seen).toEqual([
      {
        additional: {},
        id: expect.stringMatching(/^reconcile#\["task-1"\]#\d+\.1\.!$/),
        event: "task.completed",
        version: "2",
        occurredAt: instant(5),
        workspaceId: "workspace-1",
        clientId: "client-1",
        taskId: "task-1",
        taskType: "TAX_PREP",
        status: "COMPLETED",
        errorMessage: null,
        taxPrepResult: { taxYear: 2025, returnType: "F1040" },
        customerError: null,
      },
    ]);
  });
});

const hourMs = 3_600_000;

describe("receiver.reconcile when statuses differ", () => {
  /** A receiver that applied RUNNING, stamped five minutes ahead, and then got COMPLETED with the true time. */
  async function skewedFixture() {
    const fixture = await watchingScene();
    const { clock } = fixture;
    const at = (offsetMs: number) => new Date(clock.now() + offsetMs).toISOString();
    await deliverAndSettle(fixture, sampleEvent({ taskId: "task-1", occurredAt: at(300_000) }));
    const completedAt = at(1_000);
    await clock.advance(2_000);
    await deliverAndSettle(fixture, completedEvent({ taskId: "task-1", occurredAt: completedAt }));
    const api = tasksApi([task("task-1", { completedAt })]);
    return { fixture, api, reconcile: () => fixture.receiver.reconcile(api.client, { runningForMs: 1 }) };
  }

  it("leaves a status alone that changed within the last minute, and counts it as disputed", async () => {
    const { fixture, reconcile } = await skewedFixture();
    await using _ = fixture;
    expect(await reconcile()).toMatchObject({ enqueued: 0, disputed: 1 });
    expect(fixture.states).toEqual(["task-1 RUNNING webhook"]);
  });

  it("replaces RUNNING with a time in the future by the COMPLETED of the API, once", async () => {
    const { fixture, api, reconcile } = await skewedFixture();
    await using _ = fixture;
    await fixture.clock.advance(60_000);
    expect(await reconcile()).toMatchObject({ enqueued: 1, corrected: 1, disputed: 0 });
    await fixture.clock.settle();
    expect(fixture.states).toEqual(["task-1 RUNNING webhook", "task-1 COMPLETED reconcile"]);
    expect(await reconcile()).toMatchObject({ enqueued: 0, corrected: 0, disputed: 0 });
    // The second look is a second request.
    expect(api.asked.filter((ids) => ids !== "all").length).toBeGreaterThan(0);
  });

  it("finds a failed task that runs again, although it keeps its first start", async () => {
    await using fixture = await watchingScene();
    const failed = { event: "task.failed", status: "FAILED", taskId: "t", occurredAt: instant(9) };
    await deliverAndSettle(fixture, sampleEvent(failed));
    await fixture.clock.advance(60_000);
    const { client } = tasksApi([task("t", { status: "RUNNING", completedAt: null })]);
    const options = { taskIds: ["t"] };
    expect(await fixture.receiver.reconcile(client, options)).toMatchObject({ corrected: 1 });
    await fixture.clock.settle();
    expect(fixture.states).toEqual(["t FAILED webhook", "t RUNNING reconcile"]);
    await deliverAndSettle(fixture, completedEvent({ taskId: "t", occurredAt: instant(30) }));
    expect(fixture.states.at(-1)).toBe("t COMPLETED webhook");
  });

  it("does not correct a head that moved between the two requests", async () => {
    await using fixture = await watchingScene();
    await deliverAndSettle(fixture, completedEvent({ taskId: "t", occurredAt: instant(50) }));
    await fixture.clock.advance(60_000);
    let requests = 0;
    async function* list() {
      requests += 1;
      if (requests === 2) {
        await deliverAndSettle(fixture, completedEvent({ taskId: "t", occurredAt: instant(60) }));
        await fixture.clock.advance(61_000);
      }
      yield task("t", { status: "RUNNING", completedAt: null });
    }
    const options = { sinceMs: 0, taskIds: ["t"] };
    const report = await fixture.receiver.reconcile({ tasks: { list } }, options);
    expect(report).toMatchObject({ corrected: 0, disputed: 1 });
    expect(fixture.states.at(-1)).toBe("t COMPLETED webhook");
  });
});

describe("receiver.reconcile and wrong times of the tasks API", () => {
  it.each(["2099-01-01T00:00:00.000Z", "yesterday"])(
    "applies the status and ignores the time %s",
    async (wrong) => {
      await using fixture = await watchingScene();
      await runFor15Minutes(fixture, "known");
      const api = tasksApi([task("new", { completedAt: wrong }), task("known", { completedAt: wrong })]);
      const options = { taskIds: ["new"] };
      const reconcile = () => fixture.receiver.reconcile(api.client, options);
      expect(await reconcile()).toMatchObject({ enqueued: 2, corrected: 1, untrustedTimes: 2 });
      await fixture.clock.settle();
      expect(fixture.states.slice(1).toSorted()).toEqual([
        "known COMPLETED reconcile",
        "new COMPLETED reconcile",
      ]);
      expect(await reconcile()).toMatchObject({ enqueued: 0, disputed: 0 });
      // Neither task is frozen: the next event is newer.
      await fixture.clock.advance(1_000);
      const occurredAt = new Date(fixture.clock.now()).toISOString();
      for (const taskId of ["new", "known"]) {
        await deliverAndSettle(fixture, sampleEvent({ taskId, occurredAt }));
        expect(fixture.states.at(-1)).toBe(`${taskId} RUNNING webhook`);
      }
    },
  );

  it("without a readable time a task takes its next event, also when the receiver's clock was a year ahead", async () => {
    await using fixture = await watchingScene();
    const { clock, receiver, states } = fixture;
    const occurredAt = new Date(clock.now()).toISOString();
    const wrong = { completedAt: "yesterday", startedAt: "yesterday" };
    const { client } = tasksApi([
      task("done", { ...wrong, startedAt: occurredAt }),
      task("running", { ...wrong, status: "RUNNING" }),
    ]);
    clock.setNow(clock.now() + 365 * 86_400_000);
    expect(await receiver.reconcile(client, { taskIds: ["done", "running"] })).toMatchObject({
      enqueued: 2,
      untrustedTimes: 2,
    });
    await clock.settle();
    expect(states.toSorted()).toEqual(["done COMPLETED reconcile", "running RUNNING reconcile"]);
    clock.setNow(clock.now() - 365 * 86_400_000);
    // It is as old as the start, and says less than the tasks API did.
    await deliverAndSettle(fixture, sampleEvent({ taskId: "done", occurredAt }));
    expect(states).toHaveLength(2);
    await deliverAndSettle(fixture, completedEvent({ taskId: "running", occurredAt }));
    expect(states.at(-1)).toBe("running COMPLETED webhook");
  });

  it("a single old start does not end the list", async () => {
    await using fixture = await watchingScene();
    await fixture.receiver.reconcile(tasksApi([]).client);
    const recent = new Date(fixture.clock.now() - 1_000).toISOString();
    const old = task("wrong", { startedAt: "1970-01-01T00:00:00.000Z" });
    const { client } = tasksApi([old, task("recent", { startedAt: recent, completedAt: recent })]);
    expect(await fixture.receiver.reconcile(client)).toMatchObject({ examined: 1, enqueued: 1 });
  });
});

describe("the tasks that receiver.reconcile fetches by default", () => {
  const startedAgo = (clock: { now(): number }, id: string, agoMs: number) => {
    const at = new Date(clock.now() - agoMs).toISOString();
    return task(id, { startedAt: at, completedAt: at });
  };

  it("include all that started while nothing was accepted and in the 28 hours before, once an hour", async () => {
    await using fixture = await watchingScene({ pollMs: hourMs });
    const { clock, receiver } = fixture;
    await receiver.reconcile(tasksApi([]).client);
    await deliverAndSettle(fixture, completedEvent({ occurredAt: instant(1) }));
    await clock.advance(60_000);
    // The process lives, and a proxy in front of it is down for two days.
    await clock.advance(48 * hourMs);
    const api = tasksApi([
      startedAgo(clock, "during", 40 * hourMs),
      startedAgo(clock, "retried before", 48 * hourMs + 27 * hourMs),
      startedAgo(clock, "long ago", 48 * hourMs + 29 * hourMs),
    ]);
    expect(await receiver.reconcile(api.client)).toMatchObject({ examined: 2, enqueued: 2 });
    await clock.settle();
    expect(fixture.states.slice(1).toSorted()).toEqual([
      "during COMPLETED reconcile",
      "retried before COMPLETED reconcile",
    ]);
    // Within the hour only what started since then is listed.
    expect(await receiver.reconcile(api.client)).toMatchObject({ examined: 1, unchanged: 1 });
    await clock.advance(hourMs);
    expect(await receiver.reconcile(api.client)).toMatchObject({ examined: 2 });
  });

  it("include all that started since the last complete reconciliation, also after weeks", async () => {
    const clock = createFixtureClock();
    const inbox = memoryInbox({ clock });
    const first = startedAgo(clock, "first", 1_000);
    {
      await using before = await watchingScene({ clock, inbox });
      await before.receiver.reconcile(tasksApi([first]).client);
      await clock.settle();
    }
    await clock.advance(30 * 24 * hourMs);
    await using fixture = await watchingScene({ clock, inbox });
    await deliverAndSettle(fixture, completedEvent({ occurredAt: instant(1) }));
    const { client } = tasksApi([startedAgo(clock, "missed", 20 * 24 * hourMs), first]);
    expect(await fixture.receiver.reconcile(client)).toMatchObject({ examined: 2, enqueued: 1 });
  });

  it("are listed again from the start when the last call failed in between", async () => {
    await using fixture = await watchingScene();
    const tasks = [1, 2, 3].map((n) => startedAgo(fixture.clock, `task-${n}`, n * hourMs));
    let isBroken = true;
    async function* list() {
      yield* tasks.slice(0, 2);
      if (isBroken) throw new Error("the connection was lost");
      yield* tasks.slice(2);
    }
    const client = { tasks: { list } };
    const { receiver } = fixture;
    await expect(receiver.reconcile(client)).rejects.toThrow("the connection was lost");
    await fixture.clock.settle();
    expect(fixture.states).toHaveLength(2);
    isBroken = false;
    expect(await receiver.reconcile(client)).toMatchObject({ examined: 3, unchanged: 2, enqueued: 1 });
    // Within the hour only what has started since the newest is listed.
    expect(await receiver.reconcile(client)).toMatchObject({ examined: 1 });
  });

  it("reach a running task behind any number of dead events of unknown tasks", async () => {
    await using fixture = createReceiverFixture({ retry: { attemptsMax: 1 } });
    const states: string[] = [];
    fixture.receiver.onState("task", ({ taskId, status }) => {
      if (taskId.startsWith("dead")) throw new Error("cannot be applied");
      states.push(`${taskId} ${status}`);
    });
    await fixture.receiver.start();
    for (let n = 0; n < 520; n++) {
      await fixture.deliver(sampleEvent({ taskId: `dead-${n}`, occurredAt: instant(1) }));
    }
    await runFor15Minutes(fixture, "real");
    const { client, asked } = tasksApi([task("real")]);
    const report = await fixture.receiver.reconcile(client, { sinceMs: 0 });
    expect(report).toMatchObject({ missing: 520, enqueued: 1 });
    expect(asked.map((ids) => ids.length)).toEqual([...Array(10).fill(50), 21]);
    await fixture.clock.settle();
    expect(states).toEqual(["real RUNNING", "real COMPLETED"]);
  });

  it("are those of the client's workspace; others are counted and not reported as missing", async () => {
    await using fixture = await watchingScene();
    for (const [taskId, workspaceId] of [
      ["mine", "workspace-1"],
      ["theirs", "workspace-2"],
    ] as const) {
      await deliverAndSettle(fixture, sampleEvent({ taskId, workspaceId, occurredAt: instant(1) }));
    }
    await fixture.clock.advance(900_000);
    const api = tasksApi([task("mine")]);
    const report = await fixture.receiver.reconcile(api.client, { sinceMs: 0 });
    expect(report).toMatchObject({ examined: 1, missing: 0, otherWorkspaces: 1 });
    expect(api.asked).toEqual([["mine"]]);
  });
});
