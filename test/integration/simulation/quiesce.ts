// The end of a run: faults are turned off, paused processes resume, tasks complete, and time passes until no work is
// left. Then the receiver reconciles once with the tasks API, as after an outage.

import type { InboxRowState } from "@workspace-tasks/receiver-kit";
import type { SimulationRun } from "./actions.ts";
import { keyOf, positionOf } from "./effects.ts";
import type { InboxChecks } from "./inbox-checks.ts";
import { storedSource } from "./world.ts";

const hourMs = 3_600_000;

/** The parts of the end, in order. */
export const quiesceParts: readonly ((run: SimulationRun) => Promise<unknown>)[] = [
  async ({ world: { clock, ...world }, service, receivers, operator }) => {
    world.disableFaults();
    // What is stored now lies half a day in the future.
    if (world.settings.storeClockIsSet) world.storeClock.set(-12 * hourMs);
    await service.mock.control.clearFaults();
    await service.replaceApiKey();
    for (const { process } of receivers.running()) {
      process.resume();
      process.setClock(0);
    }
    for (const sdkProcess of service.sdkProcesses) sdkProcess.aheadMs = 0;
    receivers.restart();
    // Until the slowest call has ended and the longest grace period has expired.
    await clock.advance(1.2 * hourMs);
    void operator.rotate(0);
    void operator.setEnabled(true);
    await clock.advance(0.4 * hourMs);
  },
  async ({ world, service }) => {
    // The tasks API dates a task by its first start: of a task that failed and ran again, it only shows the end.
    const { control } = service.mock;
    for (const taskId of service.manualTaskIds) {
      const { status } = await control.getTask(taskId);
      if (status === "FAILED") await control.setTaskStatus(taskId, { status: "RUNNING" });
      if (status !== "COMPLETED") await control.setTaskStatus(taskId, { status: "COMPLETED" });
    }
    // Two attempts of a delivery are at most an hour apart, or two where the receiver asked for it.
    await world.clock.advance(2.1 * hourMs);
  },
  reconcileCandidates,
  async ({ world, operator }) => {
    void operator.reconcile({ sinceMs: 30 * 24 * hourMs });
    await world.clock.advance(0.2 * hourMs);
  },
  ({ world }) => world.clock.advance(0.2 * hourMs),
];

/** Reconciles the candidates. */
async function reconcileCandidates({ world, operator, receivers, service }: SimulationRun): Promise<void> {
  const source = storedSource(world.settings);
  const options = { source, runningForMs: 60_000, afterKey: "", limit: 100_000 };
  const taskIds = async () => {
    const found = await receivers.store.reconcileCandidates(options);
    const own = found.filter(({ workspaceId }) => [null, service.mock.workspaceId].includes(workspaceId));
    return new Set(own.map(({ key }) => (JSON.parse(key) as string[])[0] ?? ""));
  };
  const before = await taskIds();
  operator.askedTaskIds.clear();
  void operator.reconcile({ sinceMs: 0 });
  await world.clock.advance(hourMs);
  for (const id of await taskIds()) {
    world.check("R1", !before.has(id) || operator.askedTaskIds.has(id), () => {
      return `${world.trace.nameOf("task", id)} is one of ${before.size} candidates and was never asked for`;
    });
  }
}

const settled: readonly InboxRowState[] = ["done", "stale", "dead", "quarantined"];

/** Checks what must be true when no work is left. */
export async function checkFinalState(run: SimulationRun, { eventOf }: InboxChecks): Promise<void> {
  const { check, trace } = run.world;
  const { store, effects } = run.receivers;
  const newest = new Map<string, string>();
  for (const row of await store.list({ limit: 100_000 })) {
    const name = trace.nameOf("delivery", row.id);
    check("I5", settled.includes(row.state), () => `${name} is still ${row.state}: ${row.lastError}`);
    if (row.source !== storedSource(run.world.settings)) continue;
    const isOdd = run.service.oddEventIds.has(run.service.eventIds.get(row.id) ?? "");
    check("Q1", !isOdd || row.state !== "quarantined", () => `${name} was quarantined for its details`);
    if (row.state !== "done" && row.state !== "stale") continue;
    // A batch of states has the newest event of a task alone.
    const isLeftOut = run.world.settings.batches && row.state === "stale";
    const handled = row.channel === "reconcile" || isLeftOut || effects.counts.has(row.id);
    check("I4", handled, () => `${name} is ${row.state} and took no effect`);
    const event = await eventOf(row);
    if (!event || row.orderKey === null) continue;
    const position = positionOf(event);
    if (position > (newest.get(keyOf(event)) ?? "")) newest.set(keyOf(event), position);
  }
  for (const [key, position] of newest) {
    const state = effects.states.get(key);
    // The state may be newer: a row that was done may have been replayed, and be dead now.
    check("E1", state !== undefined && state.position >= position, () => {
      return `${trace.nameOf("task", key)} is at ${state?.position}, its newest event at ${position}`;
    });
  }
  await checkTasks(run);
  await checkLabels(run);
}

async function checkTasks({ world: { check, trace }, service, receivers }: SimulationRun): Promise<void> {
  const { control } = service.mock;
  const checkStatus = (key: string, status: string) => {
    const received = receivers.effects.states.get(key)?.status;
    check("E1", received === status, () => {
      return `${trace.nameOf("task", key)} is ${status} at the service and ${received} at the receiver`;
    });
  };
  for (const { taskId } of (await control.listTasks({ limit: 1_000 })).data) {
    const { status, subTasks } = await control.getTask(taskId);
    checkStatus(taskId, status);
    for (const stage of subTasks) {
      if (stage.status !== "RUNNING") checkStatus(`${taskId}/${stage.subTaskId}`, stage.status);
    }
  }
}

async function checkLabels({ world, operator, service }: SimulationRun): Promise<void> {
  const endpoints = (await service.mock.control.listEndpoints()).data;
  for (const [label, expected] of operator.labels) {
    const count = endpoints.filter(({ description }) => description === label).length;
    const holds = count === 1 ? expected !== "none" : count === 0 && expected !== "one";
    world.check("O1", holds, () => `${label} exists ${count} times, its outcome means ${expected}`);
  }
}
