import { expect } from "vitest";
import { createVirtualClock, type VirtualClock } from "workspace-tasks/mock-server";
import {
  createReceiver,
  type EventHandler,
  type Inbox,
  type Receiver,
  type ReconcileClient,
} from "workspace-tasks/receiver-kit";
import { instant } from "../support/inbox-rows.ts";
import { completedEvent, sampleEvent, stageEvent } from "../support/sample-event.ts";
import { secretA, signDelivery } from "../support/signed-delivery.ts";

// A short life of a receiver with everything in it: a start, deliveries in the wrong order and twice, a handler that
// fails once, an event nobody can use, a reconciliation, a close. Whoever drives it does what a sender, a supervisor
// and an operator do about a failure: come again.

export type StoryParts<Transaction> = {
  readonly clock: VirtualClock;
  /** The inbox as the receiver has it; its calls may fail. */
  readonly inbox: Inbox<Transaction>;
  /** The same rows, without failures, for looking at them afterwards. */
  readonly rows: Inbox;
  /** Writes the name of an effect in the transaction. */
  write(transaction: Transaction, name: string): Promise<void>;
  /** The effects that were kept. */
  kept(): Promise<readonly string[]>;
};

const ids = {
  twice: "msg-twice",
  late: "msg-late",
  stage: "msg-stage",
  odd: "msg-odd",
  left: "msg-left",
} as const;

const tasksApi: ReconcileClient = {
  tasks: {
    async *list() {
      yield { ...ended, id: "task-left", startedAt: instant(1), completedAt: instant(9) };
    },
  },
};
const ended = { type: "TAX_PREP", status: "COMPLETED", subTasks: [], client: { id: "client-1" } };

export async function tellReceiverStory<Transaction>(parts: StoryParts<Transaction>): Promise<void> {
  const { clock, inbox } = parts;
  const receiver = createReceiver<Transaction>({
    secrets: [secretA],
    ...{ inbox, clock, logger: { info() {}, warn() {}, error() {} } },
    random: () => 0.5,
    acceptTimeoutMs: 5_000,
    leaseMs: 30_000,
    pollMs: 30_000,
  });
  let failures = 1;
  receiver.on("*", async (_, { id, transaction }) => {
    await parts.write(transaction, id);
    if (id === ids.twice && failures-- > 0) throw new Error("not the first time");
  });
  const applied: EventHandler<{ taskId: string; status: string }, Transaction> = (event, { transaction }) =>
    parts.write(transaction, `${event.taskId} ${event.status}`);
  receiver.onState("task", applied);
  receiver.onState("subtask", applied);

  await again(parts, () => receiver.start());
  const completed = completedEvent({ taskId: "task-1", occurredAt: instant(2) });
  await send(parts, receiver, ids.twice, completed);
  await send(parts, receiver, ids.twice, completed);
  // Until it is done in any case, so that what comes next is certainly older than what was applied.
  await pass(parts, 75_000);
  await send(parts, receiver, ids.late, sampleEvent({ taskId: "task-1", occurredAt: instant(1) }));
  await send(parts, receiver, ids.stage, stageEvent({ taskId: "task-1", subTaskId: "stage-1" }));
  await send(parts, receiver, ids.odd, { nothing: "of use" });
  await send(parts, receiver, ids.left, sampleEvent({ taskId: "task-left", occurredAt: instant(1) }));
  await pass(parts, 90_000);
  const looking = { workspaceId: "workspace-1", runningForMs: 60_000 };
  await again(parts, () => receiver.reconcile(tasksApi, looking));
  // Longer than a lease, for what was claimed and then forgotten.
  await pass(parts, 60_000);
  // A close that fails has still ended everything; there is nothing to try again.
  await again(parts, () => receiver.close({ graceMs: 1_000 }).catch(() => {}));
  expect(clock.pending().timers).toBe(0);
  await judge(parts);
}

/** Nothing was lost, nothing done twice, nothing left lying, and the state is that of the newest events. */
async function judge<Transaction>({ rows, kept }: StoryParts<Transaction>): Promise<void> {
  const states = (await rows.list({})).map(({ id, state }) => `${id.split("/")[0]} ${state}`).toSorted();
  const handled = [`${ids.late} stale`, `${ids.left} done`, `${ids.odd} quarantined`, `${ids.stage} done`];
  expect(states).toEqual([...handled, `${ids.twice} done`, "reconcile done"].toSorted());
  const effects = [ids.late, ids.left, ids.stage, ids.twice];
  const applied = ["task-1 COMPLETED", "task-1 COMPLETED", "task-left COMPLETED", "task-left RUNNING"];
  expect((await kept()).toSorted()).toEqual([...effects, ...applied].toSorted());
}

/** The sender: comes again until it is told that the delivery has arrived. */
async function send<Transaction>(
  parts: StoryParts<Transaction>,
  receiver: Receiver<Transaction>,
  id: string,
  event: Readonly<Record<string, unknown>>,
): Promise<void> {
  const body = JSON.stringify(event);
  await again(parts, async () => {
    const timestampSeconds = Math.floor(parts.clock.now() / 1_000);
    const { headers } = signDelivery({ id, body, timestampSeconds });
    const request = new Request("https://receiver.example/", {
      method: "POST",
      headers: { ...headers },
      body,
    });
    const { status } = await receiver.fetch(request);
    if (status !== 200) throw new Error(`answered ${status}`);
  });
  await pass(parts, 1_000);
}

const triesMax = 5;

/** Tries until it succeeds; time passes meanwhile, so that nothing can hang unseen. */
async function again<Transaction>(
  parts: StoryParts<Transaction>,
  work: () => Promise<unknown>,
): Promise<void> {
  let failure: unknown;
  for (let tries = 0; tries < triesMax; tries++) {
    const outcome = { over: false, failed: false };
    const working = work().then(
      () => {
        outcome.over = true;
      },
      (error: unknown) => {
        outcome.over = true;
        outcome.failed = true;
        failure = error;
      },
    );
    for (let seconds = 0; seconds < hangsAfterSeconds && !outcome.over; seconds++) await pass(parts, 1_000);
    if (!outcome.over) throw new Error("hangs");
    await working;
    if (!outcome.failed) return;
    await pass(parts, 5_000);
  }
  throw new Error(`did not succeed in ${triesMax} tries`, { cause: failure });
}

const hangsAfterSeconds = 60;

/** Lets time pass. What works in turns of the event loop, as SQLite's writer does, gets some before each second. */
async function pass<Transaction>({ clock }: StoryParts<Transaction>, forMs: number): Promise<void> {
  for (let leftMs = forMs; leftMs > 0; leftMs -= stepMs) {
    for (let turns = 0; turns < 6; turns++) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(Math.min(stepMs, leftMs));
  }
}

const stepMs = 15_000;

export const storyClock = (): VirtualClock => createVirtualClock(Date.UTC(2026, 5, 1));
