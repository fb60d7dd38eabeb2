// Times and states that cannot be relied on: events stamped ahead of the true time, and a tasks API that returns times in
// the far future, no times, older times, or the state of a replica that lags behind.

import type { ReconcileClient } from "@workspace-tasks/receiver-kit";
import type { SimulationRun } from "./actions.ts";
import type { SimulationWorld } from "./world.ts";

type ListedTask =
  ReturnType<ReconcileClient["tasks"]["list"]> extends AsyncIterable<infer Task> ? Task : never;

/** Sometimes sends `task.running`, five minutes ahead of the true time, about a task that has completed. */
export async function maybeSendSkewedEvent({ world, service }: SimulationRun): Promise<void> {
  const random = world.random.stream(`skewed event/${world.clock.now()}`);
  const taskId = random.sample(service.manualTaskIds);
  if (!world.settings.wrongTimes || taskId === undefined || !random.happens(0.1)) return;
  const { status, taskType, clientId } = await service.mock.control.getTask(taskId);
  if (status !== "COMPLETED") return;
  const occurredAt = new Date(world.clock.now() + 300_000).toISOString();
  const payload = { clientId, taskId, taskType, status: "RUNNING", occurredAt, errorMessage: null };
  await service.mock.control.sendEvent({ name: "task.running", payload });
  world.injected("skewedEvent");
}

/** The client as reconciling sees it: some tasks have wrong times or states while faults are on. */
export function withWrongTimes(world: SimulationWorld, client: ReconcileClient): ReconcileClient {
  const random = world.random.stream(`wrong times/${world.clock.now()}`);
  const change = (task: ListedTask): ListedTask => {
    const picked = random.pick<Partial<ListedTask>>([
      { completedAt: "2099-01-01T00:00:00.000Z" },
      { completedAt: "yesterday" },
      { startedAt: "2099-01-01T00:00:00.000Z" },
      { startedAt: "1970-01-01T00:00:00.000Z" },
      { completedAt: task.completedAt && new Date(Date.parse(task.completedAt) - 3_600_000).toISOString() },
      { status: "RUNNING", completedAt: null },
    ]);
    return world.faultOccurs("wrongTime", random) ? { ...task, ...picked } : task;
  };
  return {
    me: () => client.me?.() ?? Promise.resolve(),
    tasks: {
      async *list(options) {
        for await (const task of client.tasks.list(options)) yield change(task);
      },
    },
  };
}
