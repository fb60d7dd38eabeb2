import { describe, expect, it } from "vitest";
import type { ReconcilableStage, ReconcilableTask, ReconcileClient } from "workspace-tasks/receiver-kit";
import { memoryInbox, NonRetryableError } from "workspace-tasks/receiver-kit";
import { instant } from "../../../support/inbox-rows.ts";
import {
  createReceiverScene,
  createSceneClock,
  type ReceiverScene,
} from "../../../support/receiver-scene.ts";
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
async function watchingScene(options: Parameters<typeof createReceiverScene>[0] = {}) {
  const scene = createReceiverScene(options);
  const states: string[] = [];
  const events: string[] = [];
  scene.receiver.onState(
    "task",
    ({ taskId, status }, { channel }) => void states.push(`${taskId} ${status} ${channel}`),
  );
  scene.receiver.onState("subtask", ({ subTaskId, status }) => void states.push(`${subTaskId} ${status}`));
  scene.receiver.on("*", ({ event }) => void events.push(event));
  await scene.receiver.start();
  return { ...scene, states, events, [Symbol.asyncDispose]: () => scene[Symbol.asyncDispose]() };
}

async function deliverAndSettle(
  scene: ReceiverScene,
  event: Record<string, unknown>,
  id?: string,
): Promise<void> {
  await scene.deliver(event, id);
  await scene.clock.settle();
}

describe("reconciling", () => {
  it("looks up tasks that have been running for too long, in one request, and applies what it finds", async () => {
    await using scene = await watchingScene();
    await deliverAndSettle(scene, sampleEvent({ taskId: "missed", occurredAt: instant(1) }));
    await deliverAndSettle(scene, sampleEvent({ taskId: "still-running", occurredAt: instant(1) }));
    await deliverAndSettle(scene, completedEvent({ taskId: "finished", occurredAt: instant(2) }));
    await scene.clock.advance(900_000);
    const api = tasksApi([task("missed"), task("still-running", { status: "RUNNING", completedAt: null })]);
    expect(await scene.receiver.reconcile(api.client)).toEqual({
      examined: 2,
      enqueued: 1,
      agreed: 1,
      missing: 0,
    });
    await scene.clock.settle();
    expect(api.asked.map((ids) => [...ids].toSorted())).toEqual([["missed", "still-running"]]);
    expect(scene.states.at(-1)).toBe("missed COMPLETED reconcile");
    // Nothing was delivered, so nothing that counts deliveries hears of it.
    expect(scene.events).toEqual(["task.running", "task.running", "task.completed"]);
  });

  it("leaves tasks alone that were heard of lately", async () => {
    await using scene = await watchingScene();
    await deliverAndSettle(scene, sampleEvent({ taskId: "young", occurredAt: instant(1) }));
    await scene.clock.advance(899_999);
    const api = tasksApi([]);
    expect((await scene.receiver.reconcile(api.client)).examined).toBe(0);
    expect(api.asked).toEqual([]);
  });

  it("drops an answer that a delivery has overtaken meanwhile", async () => {
    await using scene = await watchingScene();
    await deliverAndSettle(scene, sampleEvent({ taskId: "task-1", occurredAt: instant(1) }));
    await scene.clock.advance(900_000);
    const old = task("task-1", { status: "FAILED", completedAt: instant(5) });
    const slow: ReconcileClient = {
      tasks: {
        async *list() {
          // While the answer is under way, the task is run again and completes.
          await deliverAndSettle(scene, completedEvent({ taskId: "task-1", occurredAt: instant(9) }));
          yield old;
        },
      },
    };
    expect(await scene.receiver.reconcile(slow)).toMatchObject({ enqueued: 0, agreed: 1 });
    expect(scene.states.at(-1)).toBe("task-1 COMPLETED webhook");
  });

  it("lets the delivery of the same change be applied afterwards, for it tells more", async () => {
    await using scene = await watchingScene();
    await deliverAndSettle(scene, sampleEvent({ taskId: "task-1", occurredAt: instant(1) }));
    await scene.clock.advance(900_000);
    const { client } = tasksApi([task("task-1")]);
    await scene.receiver.reconcile(client);
    await scene.clock.settle();
    expect(await scene.receiver.reconcile(client)).toMatchObject({ enqueued: 0 });
    await deliverAndSettle(scene, completedEvent({ taskId: "task-1", occurredAt: instant(5) }));
    expect(scene.states.slice(1)).toEqual(["task-1 COMPLETED reconcile", "task-1 COMPLETED webhook"]);
    expect(await scene.receiver.reconcile(client, { runningForMs: 1 })).toMatchObject({ enqueued: 0 });
  });

  it("looks up tasks with dead or quarantined events, and applies stages as well", async () => {
    await using scene = createReceiverScene({ retry: { attemptsMax: 1 } });
    const states: string[] = [];
    scene.receiver.onState("task", ({ taskId, status }, { channel }) => {
      if (channel === "webhook") throw new Error("cannot be applied");
      states.push(`${taskId} ${status}`);
    });
    scene.receiver.onState("subtask", ({ subTaskId, subTaskType, status }) => {
      states.push(`${subTaskId} ${subTaskType} ${status}`);
    });
    await scene.receiver.start();
    await deliverAndSettle(scene, completedEvent({ taskId: "dead", occurredAt: instant(4) }));
    await deliverAndSettle(scene, { event: "task.completed", taskId: "odd", occurredAt: "yesterday" }, "odd");
    const { client } = tasksApi([
      task("dead", { subTasks: [stage("s-1"), stage("s-2", { status: "RUNNING", completedAt: null })] }),
      task("odd", { subTasks: [stage("s-3", { status: "FAILED" })] }),
    ]);
    expect(await scene.receiver.reconcile(client)).toEqual({
      examined: 2,
      enqueued: 4,
      agreed: 0,
      missing: 0,
    });
    await scene.clock.settle();
    expect(states.toSorted()).toEqual([
      "dead COMPLETED",
      "odd COMPLETED",
      "s-1 tax-extraction COMPLETED",
      "s-3 tax-extraction FAILED",
    ]);
  });

  it("after a downtime looks at everything started since, and only the first time", async () => {
    const clock = createSceneClock();
    const inbox = memoryInbox({ clock });
    {
      await using before = await watchingScene({ clock, inbox });
      await deliverAndSettle(before, sampleEvent({ taskId: "known", occurredAt: instant(1) }));
      await before.clock.advance(60_000);
    }
    await clock.advance(3_600_000);
    const during = new Date(clock.now() - 1_800_000).toISOString();
    const earlier = new Date(clock.now() - 86_400_000).toISOString();
    await using scene = await watchingScene({ clock, inbox });
    const api = tasksApi([
      task("never-heard-of", { startedAt: during, completedAt: during }),
      task("long-ago", { startedAt: earlier, completedAt: earlier }),
      task("known"),
    ]);
    expect(await scene.receiver.reconcile(api.client)).toMatchObject({ examined: 2, enqueued: 2 });
    await clock.settle();
    expect(scene.states.toSorted()).toEqual([
      "known COMPLETED reconcile",
      "never-heard-of COMPLETED reconcile",
    ]);
    await scene.receiver.reconcile(api.client);
    expect(api.asked).toEqual(["all", ["known"]]);
  });

  it("hands over again what it found before and the handlers gave up", async () => {
    await using scene = await watchingScene();
    let broken = true;
    scene.receiver.onState("task", (_, { channel }) => {
      if (channel === "reconcile" && broken) throw new NonRetryableError("not yet");
    });
    await deliverAndSettle(scene, sampleEvent({ taskId: "task-1", occurredAt: instant(1) }));
    await scene.clock.advance(900_000);
    const { client } = tasksApi([task("task-1")]);
    const reconcile = async () => {
      const { enqueued } = await scene.receiver.reconcile(client);
      await scene.clock.settle();
      return { enqueued, rows: (await scene.inbox.stats()).rows };
    };
    expect(await reconcile()).toMatchObject({ enqueued: 1, rows: { done: 1, dead: 1 } });
    broken = false;
    expect(await reconcile()).toMatchObject({ enqueued: 1, rows: { done: 2, dead: 0 } });
    expect(await reconcile()).toMatchObject({ enqueued: 0 });
  });

  it("leaves alone what somebody has put aside", async () => {
    await using scene = await watchingScene();
    scene.receiver.onState("task", (_, { channel }) => {
      if (channel === "reconcile") throw new NonRetryableError("never");
    });
    await deliverAndSettle(scene, sampleEvent({ taskId: "task-1", occurredAt: instant(1) }));
    await scene.clock.advance(900_000);
    const { client } = tasksApi([task("task-1")]);
    await scene.receiver.reconcile(client);
    await scene.clock.settle();
    const [dead] = await scene.inbox.list({ states: ["dead"] });
    expect(dead && (await scene.inbox.discard(dead))).toBe(true);
    expect(await scene.receiver.reconcile(client)).toMatchObject({ enqueued: 0 });
    expect((await scene.inbox.stats()).rows).toMatchObject({ discarded: 1, pending: 0 });
  });

  it("counts tasks that the API does not know, and leaves statuses alone that were added later", async () => {
    await using scene = await watchingScene();
    for (const taskId of ["gone", "paused"]) {
      await deliverAndSettle(scene, sampleEvent({ taskId, occurredAt: instant(1) }));
    }
    await scene.clock.advance(900_000);
    const { client } = tasksApi([task("paused", { status: "PAUSED" })]);
    expect(await scene.receiver.reconcile(client)).toEqual({
      examined: 1,
      enqueued: 0,
      agreed: 0,
      missing: 1,
    });
  });

  it("hands state handlers an event of the usual shape", async () => {
    await using scene = createReceiverScene();
    const seen: object[] = [];
    scene.receiver.onState("task", (event) => void seen.push(event));
    await scene.receiver.start();
    const result = { __typename: "TaskTaxPrepResult", taxYear: 2025, returnType: "F1040" };
    const { client } = tasksApi([task("task-1", { result })]);
    await scene.receiver.reconcile(client, { sinceMs: 365 * 86_400_000 });
    await scene.clock.settle();
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
