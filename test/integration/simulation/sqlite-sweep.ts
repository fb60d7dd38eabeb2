// Every statement of a SQLite inbox can fail. A sweep runs a scenario once to count its statements, and then once more for
// each of them, with that one failing: before it took effect, or after, so that the receiver cannot know the outcome.
//
// The scenario is a receiver in a short run with everything in it: a start, deliveries out of order and twice, a handler
// that fails once, an unusable event, reconciling, a close. After a failure it does what a sender, a supervisor and an
// operator do: it tries again.

import { join } from "node:path";
import type { VirtualClock } from "@workspace-tasks/mock-server";
import {
  createReceiver,
  type EventHandler,
  type Receiver,
  type ReconcileClient,
} from "@workspace-tasks/receiver-kit";
import { type SqliteTransaction, sqliteInbox } from "@workspace-tasks/receiver-kit/sqlite";
import { expect } from "vitest";
import { type InboxStore, storeOf } from "../../../receiver-kit/inbox/inbox.ts";
import { loadSqliteDriver } from "../../../receiver-kit/inbox/sqlite/sqlite-driver.ts";
import { instant } from "../../support/inbox-rows.ts";
import { type AroundStatement, interceptSqlite } from "../../support/intercept-sqlite.ts";
import { createFixtureClock } from "../../support/receiver-fixture.ts";
import { completedEvent, sampleEvent, stageEvent } from "../../support/sample-event.ts";
import { secretA, signDelivery } from "../../support/signed-delivery.ts";
import { withFolder } from "../../support/with-folder.ts";

export const failureMoments = ["before its effect", "after its effect"] as const;

type Inbox = InboxStore<SqliteTransaction>;

export interface SweepOptions {
  /** Of how many statements one fails: each moment begins with another one. */
  readonly stride: number;
  /** The kind of the statements that fail, such as `BEGIN IMMEDIATE`. Default: all. */
  readonly failing?: string | undefined;
  /** Wraps the inbox of the receiver. */
  readonly change?: ((inbox: Inbox) => Inbox) | undefined;
}

export interface SweepResult {
  readonly runs: number;
  /** The kinds of the statements of one run, in order. */
  readonly statements: readonly string[];
}

interface Failure {
  readonly at: number;
  readonly moment: (typeof failureMoments)[number];
}

/** Runs the scenario for the statements and every moment. Its error is thrown again with the name of the failed statement. */
export const sweepSqlite = ({ stride, failing, change = (inbox) => inbox }: SweepOptions) =>
  withFolder(async (folder): Promise<SweepResult> => {
    let runs = 0;
    /** @returns the kinds of its statements */
    const run = (failure?: Failure) => runOnSqlite(join(folder, `${runs++}.db`), change, failure);
    const statements = await run();
    for (const [index, moment] of failureMoments.entries()) {
      for (let at = 1 + (index % stride); at <= statements.length; at += stride) {
        if (failing !== undefined && statements[at - 1] !== failing) continue;
        await run({ at, moment }).catch((cause: unknown) => {
          const text = cause instanceof Error ? cause.message : String(cause);
          throw new Error(`statement ${at} (${statements[at - 1]}) failed ${moment}: ${text}`, { cause });
        });
      }
    }
    return { runs, statements };
  });

/** Runs the scenario on a new file, with one statement of the receiver's inbox failing. */
async function runOnSqlite(
  path: string,
  change: (inbox: Inbox) => Inbox,
  failure: Failure | undefined,
): Promise<readonly string[]> {
  const openFile = await loadSqliteDriver();
  const statements: string[] = [];
  const around: AroundStatement = (statement, call) => {
    statements.push(statement.trim().split(/\s+/).slice(0, 2).join(" "));
    const moment = failure?.at === statements.length ? failure.moment : undefined;
    const error = Object.assign(new Error("disk I/O error"), { code: "SQLITE_IOERR" });
    if (moment === "before its effect") throw error;
    const result = call();
    if (moment === "after its effect") throw error;
    return result;
  };
  const clock = createFixtureClock();
  const effects = openFile(path);
  effects.exec("PRAGMA synchronous = OFF; CREATE TABLE effects (name TEXT)");
  const inboxWith = (aroundStatement: AroundStatement) =>
    storeOf(sqliteInbox({ path, driver: () => interceptSqlite(openFile(path), aroundStatement), clock }));
  const rows = inboxWith((_, call) => call());
  await rows.open();
  try {
    await runScenario(clock, change(inboxWith(around)));
    // No delivery was lost or took effect twice, no row is unsettled, and the state is that of the newest events.
    const states = (await rows.list({})).map(({ id, state }) => `${id.split("#")[0]} ${state}`);
    expect(states.toSorted()).toEqual(expectedStates.toSorted());
    const committed = effects.query("SELECT name FROM effects").map(({ name }) => String(name));
    expect(committed.toSorted()).toEqual(expectedEffects.toSorted());
    return statements;
  } finally {
    effects.close();
    await rows.close();
  }
}

const ids = {
  twice: "msg-twice",
  late: "msg-late",
  stage: "msg-stage",
  unusable: "msg-unusable",
  unfinished: "msg-unfinished",
} as const;

const expectedStates = [
  `${ids.late} stale`,
  `${ids.unfinished} done`,
  `${ids.unusable} quarantined`,
  `${ids.stage} done`,
  `${ids.twice} done`,
  "reconcile done",
];
const expectedEffects = [
  ...[ids.late, ids.unfinished, ids.stage, ids.twice],
  ...["task-1 COMPLETED", "task-1 COMPLETED", "task-unfinished COMPLETED", "task-unfinished RUNNING"],
];

const tasksApi: ReconcileClient = {
  tasks: {
    async *list() {
      yield { ...ended, id: "task-unfinished", startedAt: instant(1), completedAt: instant(9) };
    },
  },
};
const ended = { type: "TAX_PREP", status: "COMPLETED", subTasks: [], client: { id: "client-1" } };

async function runScenario(clock: VirtualClock, inbox: Inbox): Promise<void> {
  const receiver = createReceiver<SqliteTransaction>({
    secrets: [secretA],
    inbox,
    clock,
    logger: { info() {}, warn() {}, error() {} },
    random: () => 0.5,
    acceptTimeoutMs: 5_000,
    leaseMs: 30_000,
    pollMs: 30_000,
  });
  const write = ({ query }: SqliteTransaction, name: string) =>
    query("INSERT INTO effects (name) VALUES (?)", [name]);
  let failures = 1;
  receiver.on("*", async (_, { id, transaction }) => {
    await write(transaction, id);
    if (id === ids.twice && failures-- > 0) throw new Error("not the first time");
  });
  const applied: EventHandler<{ taskId: string; status: string }, SqliteTransaction> = async (
    { taskId, status },
    { transaction },
  ) => {
    await write(transaction, `${taskId} ${status}`);
  };
  receiver.onState("task", applied);
  receiver.onState("subtask", applied);

  await retry(clock, () => receiver.start());
  const completed = completedEvent({ taskId: "task-1", occurredAt: instant(2) });
  await send(clock, receiver, ids.twice, completed);
  await send(clock, receiver, ids.twice, completed);
  // Long enough for a retry, so that the next event is certainly older than the applied one.
  await pass(clock, 75_000);
  await send(clock, receiver, ids.late, sampleEvent({ taskId: "task-1", occurredAt: instant(1) }));
  await send(clock, receiver, ids.stage, stageEvent({ taskId: "task-1", subTaskId: "stage-1" }));
  await send(clock, receiver, ids.unusable, { unrelated: "field" });
  const unfinished = sampleEvent({ taskId: "task-unfinished", occurredAt: instant(1) });
  await send(clock, receiver, ids.unfinished, unfinished);
  await pass(clock, 90_000);
  await retry(clock, () =>
    receiver.reconcile(tasksApi, { workspaceId: "workspace-1", runningForMs: 60_000 }),
  );
  // Longer than a lease, for rows that were claimed and not settled.
  await pass(clock, 60_000);
  // A close that fails has still stopped the receiver, so it is not retried.
  await retry(clock, () => receiver.close({ graceMs: 1_000 }).catch(() => {}));
  expect(clock.pending().timers).toBe(0);
}

/** Sends a delivery until it is acknowledged. */
async function send(
  clock: VirtualClock,
  receiver: Receiver<SqliteTransaction>,
  id: string,
  event: Readonly<Record<string, unknown>>,
): Promise<void> {
  const body = JSON.stringify(event);
  await retry(clock, async () => {
    const timestampSeconds = Math.floor(clock.now() / 1_000);
    const { headers } = signDelivery({ id, body, timestampSeconds });
    const request = new Request("https://receiver.example/", {
      method: "POST",
      headers: { ...headers },
      body,
    });
    const { status } = await receiver.fetch(request);
    if (status !== 200) throw new Error(`the receiver returned ${status}`);
  });
  await pass(clock, 1_000);
}

const triesMax = 5;
const hangsAfterSeconds = 60;

/** Repeats the work until it succeeds. Fails when it hangs while time passes. */
async function retry(clock: VirtualClock, work: () => Promise<unknown>): Promise<void> {
  let failure: unknown;
  for (let tries = 0; tries < triesMax; tries++) {
    let isOver = false;
    const ended = work()
      .then(
        () => undefined,
        (error: unknown) => error,
      )
      .finally(() => {
        isOver = true;
      });
    for (let seconds = 0; !isOver; seconds++) {
      if (seconds > hangsAfterSeconds) throw new Error(`did not end within ${hangsAfterSeconds} s`);
      await pass(clock, 1_000);
    }
    failure = await ended;
    if (failure === undefined) return;
    await pass(clock, 5_000);
  }
  throw new Error(`did not succeed in ${triesMax} tries`, { cause: failure });
}

const stepMs = 15_000;

/** Advances the clock. SQLite's writer works in turns of the event loop, so some of those run before each step. */
async function pass(clock: VirtualClock, forMs: number): Promise<void> {
  for (let leftMs = forMs; leftMs > 0; leftMs -= stepMs) {
    for (let turns = 0; turns < 6; turns++) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(Math.min(stepMs, leftMs));
  }
}
