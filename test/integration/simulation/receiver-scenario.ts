// A receiver in a short run with everything in it: a start, deliveries out of order and twice, a handler that fails
// once, an unusable event, reconciling, a close. After a failure the scenario does what a sender, a supervisor and an
// operator do: it tries again.

import type { VirtualClock } from "@workspace-tasks/mock-server";
import {
  createReceiver,
  type EventHandler,
  type Receiver,
  type ReconcileClient,
} from "@workspace-tasks/receiver-kit";
import { expect } from "vitest";
import type { InboxStore } from "../../../receiver-kit/inbox/inbox.ts";
import { instant } from "../../support/inbox-rows.ts";
import { completedEvent, sampleEvent, stageEvent } from "../../support/sample-event.ts";
import { advanceUntilSettled } from "../../support/sdk-fixture.ts";
import { secretA, signDelivery } from "../../support/signed-delivery.ts";

interface ScenarioOptions<Transaction> {
  readonly clock: VirtualClock;
  /** The inbox that the receiver uses; its calls may fail. */
  readonly inbox: InboxStore<Transaction>;
  /** The same rows, without failures, for the checks at the end. */
  readonly rows: InboxStore;
  /** Writes the name of an effect through the transaction. */
  write(transaction: Transaction, name: string): Promise<void>;
  /** The effects that were committed. */
  committed(): Promise<readonly string[]>;
}

const ids = {
  twice: "msg-twice",
  late: "msg-late",
  stage: "msg-stage",
  unusable: "msg-unusable",
  unfinished: "msg-unfinished",
} as const;

const tasksApi: ReconcileClient = {
  tasks: {
    async *list() {
      yield { ...ended, id: "task-unfinished", startedAt: instant(1), completedAt: instant(9) };
    },
  },
};
const ended = { type: "TAX_PREP", status: "COMPLETED", subTasks: [], client: { id: "client-1" } };

export async function runReceiverScenario<Transaction>(options: ScenarioOptions<Transaction>): Promise<void> {
  const { clock, inbox } = options;
  const receiver = createReceiver<Transaction>({
    secrets: [secretA],
    inbox,
    clock,
    logger: { info() {}, warn() {}, error() {} },
    random: () => 0.5,
    acceptTimeoutMs: 5_000,
    leaseMs: 30_000,
    pollMs: 30_000,
  });
  let failures = 1;
  receiver.on("*", async (_, { id, transaction }) => {
    await options.write(transaction, id);
    if (id === ids.twice && failures-- > 0) throw new Error("not the first time");
  });
  const applied: EventHandler<{ taskId: string; status: string }, Transaction> = (event, { transaction }) =>
    options.write(transaction, `${event.taskId} ${event.status}`);
  receiver.onState("task", applied);
  receiver.onState("subtask", applied);

  await retry(options, () => receiver.start());
  const completed = completedEvent({ taskId: "task-1", occurredAt: instant(2) });
  await send(options, receiver, ids.twice, completed);
  await send(options, receiver, ids.twice, completed);
  // Long enough for a retry, so that the next event is certainly older than the applied one.
  await pass(options, 75_000);
  await send(options, receiver, ids.late, sampleEvent({ taskId: "task-1", occurredAt: instant(1) }));
  await send(options, receiver, ids.stage, stageEvent({ taskId: "task-1", subTaskId: "stage-1" }));
  await send(options, receiver, ids.unusable, { unrelated: "field" });
  await send(
    options,
    receiver,
    ids.unfinished,
    sampleEvent({ taskId: "task-unfinished", occurredAt: instant(1) }),
  );
  await pass(options, 90_000);
  await retry(options, () =>
    receiver.reconcile(tasksApi, { workspaceId: "workspace-1", runningForMs: 60_000 }),
  );
  // Longer than a lease, for rows that were claimed and not settled.
  await pass(options, 60_000);
  // A close that fails has still stopped the receiver, so it is not retried.
  await retry(options, () => receiver.close({ graceMs: 1_000 }).catch(() => {}));
  expect(clock.pending().timers).toBe(0);
  await checkResult(options);
}

/** No delivery was lost or took effect twice, no row is unsettled, and the state is that of the newest events. */
async function checkResult<Transaction>({ rows, committed }: ScenarioOptions<Transaction>): Promise<void> {
  const states = (await rows.list({})).map(({ id, state }) => `${id.split("#")[0]} ${state}`).toSorted();
  const handled = [
    `${ids.late} stale`,
    `${ids.unfinished} done`,
    `${ids.unusable} quarantined`,
    `${ids.stage} done`,
  ];
  expect(states).toEqual([...handled, `${ids.twice} done`, "reconcile done"].toSorted());
  const effects = [ids.late, ids.unfinished, ids.stage, ids.twice];
  const applied = [
    "task-1 COMPLETED",
    "task-1 COMPLETED",
    "task-unfinished COMPLETED",
    "task-unfinished RUNNING",
  ];
  expect((await committed()).toSorted()).toEqual([...effects, ...applied].toSorted());
}

/** Sends a delivery until it is acknowledged. */
async function send<Transaction>(
  options: ScenarioOptions<Transaction>,
  receiver: Receiver<Transaction>,
  id: string,
  event: Readonly<Record<string, unknown>>,
): Promise<void> {
  const body = JSON.stringify(event);
  await retry(options, async () => {
    const timestampSeconds = Math.floor(options.clock.now() / 1_000);
    const { headers } = signDelivery({ id, body, timestampSeconds });
    const request = new Request("https://receiver.example/", {
      method: "POST",
      headers: { ...headers },
      body,
    });
    const { status } = await receiver.fetch(request);
    if (status !== 200) throw new Error(`the receiver returned ${status}`);
  });
  await pass(options, 1_000);
}

const triesMax = 5;

/** Repeats the work until it succeeds. Fails when it hangs while time passes. */
async function retry<Transaction>(options: ScenarioOptions<Transaction>, work: () => Promise<unknown>) {
  const clock = { advance: (byMs: number) => pass(options, byMs) };
  let failure: unknown;
  for (let tries = 0; tries < triesMax; tries++) {
    const ended = work().then(
      () => undefined,
      (error: unknown) => error,
    );
    failure = await advanceUntilSettled(clock, ended, hangsAfterSeconds);
    if (failure === undefined) return;
    await pass(options, 5_000);
  }
  throw new Error(`did not succeed in ${triesMax} tries`, { cause: failure });
}

const hangsAfterSeconds = 60;

/** Advances the clock. SQLite's writer works in turns of the event loop, so some of those run before each step. */
async function pass<Transaction>({ clock }: ScenarioOptions<Transaction>, forMs: number): Promise<void> {
  for (let leftMs = forMs; leftMs > 0; leftMs -= stepMs) {
    for (let turns = 0; turns < 6; turns++) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(Math.min(stepMs, leftMs));
  }
}

const stepMs = 15_000;
