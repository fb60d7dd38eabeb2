import type { RowState } from "workspace-tasks/receiver-kit";
import type { Stage } from "./actors.ts";
import { type InboxWatch, keyOf } from "./inbox-watch.ts";
import { positionOf } from "./ledger.ts";

// The end of a run: the troubles end, what was down comes up, what was begun is finished, and time passes until nothing
// is left to do. Then the receiver looks once at the tasks API, as it would after a downtime.

const hourMs = 3_600_000;

/** One of the four parts of the end. */
export async function comeToRest(stage: Stage, part: number): Promise<void> {
  const { scene, service, site, operator } = stage;
  const { clock } = scene;
  if (part === 1) {
    scene.clearWeather();
    service.mock.admin.clearFaults();
    service.renewKey();
    for (const { life } of site.running()) life.wake();
    site.restart();
    // Until the slowest call is over and the longest grace period has passed.
    await clock.advance(1.2 * hourMs);
    void operator.rotate(0);
    void operator.setEnabled(true);
    await clock.advance(0.4 * hourMs);
  } else if (part === 2) {
    // A task that ran again after a failure is dated by its first start: only its end can be told by the tasks API.
    for (const taskId of service.manualTaskIds) {
      const { status } = service.mock.admin.task(taskId);
      if (status === "FAILED") service.mock.admin.moveTask(taskId, { status: "RUNNING" });
      if (status !== "COMPLETED") service.mock.admin.moveTask(taskId, { status: "COMPLETED" });
    }
    // The longest wait between two attempts of a delivery is an hour, or two where the receiver asked for it.
    await clock.advance(2.1 * hourMs);
  } else if (part === 3) {
    void operator.reconcile(30 * 24 * hourMs);
    await clock.advance(0.2 * hourMs);
  } else {
    await clock.advance(0.2 * hourMs);
  }
}

const ended: readonly RowState[] = ["done", "stale", "dead", "quarantined"];

/** What must be true when nothing moves any more. */
export async function judgeRest(stage: Stage, watch: InboxWatch): Promise<void> {
  const { judge, trace } = stage.scene;
  const { store, ledger } = stage.site;
  const rows = await store.list({ limit: 100_000 });
  const newest = new Map<string, string>();
  for (const row of rows) {
    const name = trace.nameOf("delivery", row.id);
    judge.expect(ended.includes(row.state), "I5", () => `${name} is still ${row.state}: ${row.lastError}`);
    if (row.state !== "done" && row.state !== "stale") continue;
    const effects = ledger.effects.get(row.id) ?? 0;
    const handled = row.channel === "reconcile" || effects > 0;
    judge.expect(handled, "I4", () => `${name} is ${row.state} and took no effect`);
    const event = await watch.eventOf(row);
    if (!event || row.orderKey === null) continue;
    const position = positionOf(event);
    if (position > (newest.get(keyOf(event)) ?? "")) newest.set(keyOf(event), position);
  }
  for (const [key, position] of newest) {
    const state = ledger.board.get(key);
    // Further is possible: a row that was done may have been replayed and have died then.
    judge.expect(state !== undefined && state.position >= position, "E1", () => {
      return `${trace.nameOf("task", key)} is at ${state?.position}, its newest event at ${position}`;
    });
  }
  judgeTasks(stage);
  judgeLabels(stage);
}

function judgeTasks({ scene, service, site }: Stage): void {
  const { judge, trace } = scene;
  for (const { taskId: id } of service.mock.admin.tasks({ limit: 1_000 }).data) {
    const { status, subTasks } = service.mock.admin.task(id);
    const known = site.ledger.board.get(id);
    judge.expect(known?.status === status, "E1", () => {
      return `${trace.nameOf("task", id)} is ${status}, the receiver believes ${known?.status}`;
    });
    for (const { subTaskId, status } of subTasks) {
      if (status === "RUNNING") continue;
      const key = `${id}/${subTaskId}`;
      const stage = site.ledger.board.get(key);
      judge.expect(stage?.status === status, "E1", () => {
        return `${trace.nameOf("task", key)} is ${status}, the receiver believes ${stage?.status}`;
      });
    }
  }
}

function judgeLabels({ scene, operator, service }: Stage): void {
  const endpoints = service.mock.admin.endpoints();
  for (const [label, promise] of operator.labels) {
    const count = endpoints.filter(({ description }) => description === label).length;
    const kept = count === 1 ? promise !== "none" : count === 0 && promise !== "one";
    scene.judge.expect(kept, "O1", () => `${label} exists ${count} times, its outcome promised ${promise}`);
  }
}
