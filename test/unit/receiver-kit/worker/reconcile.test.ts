import { describe, expect, it } from "vitest";
import type { ReconcilableStage, ReconcilableTask, ReconcileClient } from "workspace-tasks/receiver-kit";
import { memoryInbox, NonRetryableError } from "workspace-tasks/receiver-kit";
import { instant } from "../../../support/inbox-rows.ts";
import {
  createFixtureClock,
  createReceiverFixture,
  type ReceiverFixture,
} from "../../../support/receiver-fixture.ts";
import { completedEvent, sampleEvent } from "../../../support/sample-event.ts";

/** The tasks API as a list in memory, newest first; keeps what was asked of it. */
function tasksApi(tasks: readonly ReconcilableTask[]) {
  const asked: (readonly string[] | "all")[] = [];
  const client: ReconcileClient = {
    me: async () => ({ __typename: "WorkspaceUser", workspace: { id: "workspace-9" } }),
    tasks: {
      async *list({ ids }) {
        asked.push(ids ?? "all");
        for (const task of tasks) if (!ids || ids.includes(task.id)) yield task;
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

async function deliverAndSettle(
  fixture: ReceiverFixture,
  event: Record<string, unknown>,
  id?: string,
): Promise<void> {
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
    expect(await fixture.receiver.reconcile(api.client)).toEqual({
      examined: 2,
      enqueued: 1,
      unchanged: 1,
      missing: 0,
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
    expect((await fixture.receiver.reconcile(api.client)).examined).toBe(0);
    expect(api.asked).toEqual([]);
  });

  it("drops a response that a delivery has overtaken meanwhile", async () => {
    await using fixture = await watchingScene();
    await deliverAndSettle(fixture, sampleEvent({ taskId: "task-1", occurredAt: instant(1) }));
    await fixture.clock.advance(900_000);
    const old = task("task-1", { status: "FAILED", completedAt: instant(5) });
    const slow: ReconcileClient = {
      tasks: {
        async *list() {
          // While the response is in flight, the task runs again and completes.
          await deliverAndSettle(fixture, completedEvent({ taskId: "task-1", occurredAt: instant(9) }));
          yield old;
        },
      },
    };
    expect(await fixture.receiver.reconcile(slow)).toMatchObject({ enqueued: 0, unchanged: 1 });
    expect(fixture.states.at(-1)).toBe("task-1 COMPLETED webhook");
  });

  it("lets the delivery of the same change be applied afterwards, because it contains more", async () => {
    await using fixture = await watchingScene();
    await deliverAndSettle(fixture, sampleEvent({ taskId: "task-1", occurredAt: instant(1) }));
    await fixture.clock.advance(900_000);
    const { client } = tasksApi([task("task-1")]);
    await fixture.receiver.reconcile(client);
    await fixture.clock.settle();
    expect(await fixture.receiver.reconcile(client)).toMatchObject({ enqueued: 0 });
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
    await deliverAndSettle(
      fixture,
      { event: "task.completed", taskId: "odd", occurredAt: "yesterday" },
      "odd",
    );
    const { client } = tasksApi([
      task("dead", { subTasks: [stage("s-1"), stage("s-2", { status: "RUNNING", completedAt: null })] }),
      task("odd", { subTasks: [stage("s-3", { status: "FAILED" })] }),
    ]);
    expect(await fixture.receiver.reconcile(client)).toEqual({
      examined: 2,
      enqueued: 4,
      unchanged: 0,
      missing: 0,
    });
    await fixture.clock.settle();
    expect(states.toSorted()).toEqual([
      "dead COMPLETED",
      "odd COMPLETED",
      "s-1 tax-extraction COMPLETED",
      "s-3 tax-extraction FAILED",
    ]);
  });

  it("fetches all tasks started during a downtime, once", async () => {
    const clock = createFixtureClock();
    const inbox = memoryInbox({ clock });
    {
      await using before = await watchingScene({ clock, inbox });
      await deliverAndSettle(before, sampleEvent({ taskId: "known", occurredAt: instant(1) }));
      await before.clock.advance(60_000);
    }
    await clock.advance(3_600_000);
    const during = new Date(clock.now() - 1_800_000).toISOString();
    const earlier = new Date(clock.now() - 86_400_000).toISOString();
    await using fixture = await watchingScene({ clock, inbox });
    const api = tasksApi([
      task("never-heard-of", { startedAt: during, completedAt: during }),
      task("long-ago", { startedAt: earlier, completedAt: earlier }),
      task("known"),
    ]);
    expect(await fixture.receiver.reconcile(api.client)).toMatchObject({ examined: 2, enqueued: 2 });
    await clock.settle();
    expect(fixture.states.toSorted()).toEqual([
      "known COMPLETED reconcile",
      "never-heard-of COMPLETED reconcile",
    ]);
    await fixture.receiver.reconcile(api.client);
    expect(api.asked).toEqual(["all", ["known"]]);
  });

  it("makes a dead event of an earlier reconciliation pending again", async () => {
    await using fixture = await watchingScene();
    let broken = true;
    fixture.receiver.onState("task", (_, { channel }) => {
      if (channel === "reconcile" && broken) throw new NonRetryableError("not yet");
    });
    await deliverAndSettle(fixture, sampleEvent({ taskId: "task-1", occurredAt: instant(1) }));
    await fixture.clock.advance(900_000);
    const { client } = tasksApi([task("task-1")]);
    const reconcile = async () => {
      const { enqueued } = await fixture.receiver.reconcile(client);
      await fixture.clock.settle();
      return { enqueued, rows: (await fixture.inbox.stats()).rows };
    };
    expect(await reconcile()).toMatchObject({ enqueued: 1, rows: { done: 1, dead: 1 } });
    broken = false;
    expect(await reconcile()).toMatchObject({ enqueued: 1, rows: { done: 2, dead: 0 } });
    expect(await reconcile()).toMatchObject({ enqueued: 0 });
  });

  it("leaves discarded events alone", async () => {
    await using fixture = await watchingScene();
    fixture.receiver.onState("task", (_, { channel }) => {
      if (channel === "reconcile") throw new NonRetryableError("never");
    });
    await deliverAndSettle(fixture, sampleEvent({ taskId: "task-1", occurredAt: instant(1) }));
    await fixture.clock.advance(900_000);
    const { client } = tasksApi([task("task-1")]);
    await fixture.receiver.reconcile(client);
    await fixture.clock.settle();
    const [dead] = await fixture.inbox.list({ states: ["dead"] });
    expect(dead && (await fixture.inbox.discard(dead))).toBe(true);
    expect(await fixture.receiver.reconcile(client)).toMatchObject({ enqueued: 0 });
    expect((await fixture.inbox.stats()).rows).toMatchObject({ discarded: 1, pending: 0 });
  });

  it("counts tasks that the API does not have, and skips statuses that were added later", async () => {
    await using fixture = await watchingScene();
    for (const taskId of ["gone", "paused"]) {
      await deliverAndSettle(fixture, sampleEvent({ taskId, occurredAt: instant(1) }));
    }
    await fixture.clock.advance(900_000);
    const { client } = tasksApi([task("paused", { status: "PAUSED" })]);
    expect(await fixture.receiver.reconcile(client)).toEqual({
      examined: 1,
      enqueued: 0,
      unchanged: 0,
      missing: 1,
    });
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
        id: `reconcile/task-1/COMPLETED/${instant(5)}`,
        event: "task.completed",
        version: "2",
        occurredAt: instant(5),
        workspaceId: "workspace-9",
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
