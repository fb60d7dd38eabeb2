import { createVirtualClock } from "@workspace-tasks/mock-server";
import type { InboxRowReference } from "@workspace-tasks/receiver-kit";
import { describe, expect, it } from "vitest";
import { Handlers } from "../../../../receiver-kit/attempt/handlers.ts";
import type {
  FailedAttempt,
  InboxClaim,
  InboxDeath,
  InboxLease,
  InboxSettleOutcome,
  InboxStore,
} from "../../../../receiver-kit/inbox/inbox.ts";
import { resolveReceiverOptions } from "../../../../receiver-kit/receiver-options.ts";
import { Worker } from "../../../../receiver-kit/worker/worker.ts";
import { deferred } from "../../../../sdk/kernel/deferred.ts";
import { sampleEvent } from "../../../support/sample-event.ts";
import { secretA } from "../../../support/signed-delivery.ts";

const nowMs = Date.UTC(2026, 5, 1);

function claimOf(seq: number, fields: Partial<InboxClaim> = {}): InboxClaim {
  return {
    seq,
    source: "default",
    id: `msg_${seq}`,
    channel: "webhook",
    timestamp: nowMs / 1_000,
    event: "task.running",
    orderKey: `["task-${seq}"]`,
    position: "1",
    status: "RUNNING",
    head: null,
    workspaceId: "workspace-1",
    receivedAtMs: nowMs,
    attempts: 1,
    replays: 0,
    lease: { keyId: seq, worker: "w", generation: 1 },
    secretIndex: 0,
    traceparent: null,
    body: Buffer.from(JSON.stringify(sampleEvent({ taskId: `task-${seq}` }))),
    ...fields,
  };
}

/** Rows of one key with these positions, claimed together. */
function chainOf(positions: readonly string[]): InboxClaim[] {
  const lease = { keyId: 1, worker: "w", generation: 1 };
  return positions.map((position, index) => claimOf(index + 1, { orderKey: "key", position, lease }));
}

/** A worker on a queue that only records its calls and returns what the test has put into it. */
function workerFixture(options: object = {}) {
  const clock = createVirtualClock(nowMs);
  const startMs = clock.monotonic();
  const calls: string[] = [];
  const logged: string[] = [];
  const queue = {
    due: [] as InboxClaim[],
    died: [] as InboxDeath[],
    nextInMs: null as number | null,
    outcome: "settled" as InboxSettleOutcome,
    commit: async () => {},
    /** Which leases a renewal confirms. */
    isHeld: (_lease: InboxLease) => true,
    failClaims: false,
    failRenewals: false,
    wake: () => {},
  };
  const note = (call: string) => calls.push(`${clock.monotonic() - startMs} ${call}`);
  const inbox: Partial<InboxStore<string>> = {
    insert: () => Promise.reject(new Error("not used")),
    async claim({ rowsMax }) {
      note(`claim ${rowsMax}`);
      if (queue.failClaims) throw new Error("server is away");
      const { due, died, nextInMs } = queue;
      return { claims: due.splice(0, rowsMax), died: died.splice(0), nextInMs };
    },
    async renew(leases) {
      note(`renew ${leases.map(({ keyId }) => keyId).join(",")}`);
      if (queue.failRenewals) throw new Error("server is away");
      return new Set(leases.filter(queue.isHeld));
    },
    begin(items) {
      const seqs = items.map(({ claim }) => claim.seq).join("+");
      return {
        handle: "transaction",
        async commit() {
          note(`commit ${seqs}`);
          await queue.commit();
          return queue.outcome;
        },
        rollback: async () => void note(`rollback ${seqs}`),
      };
    },
    async fail({ seq }, failure: FailedAttempt) {
      note(`fail ${seq} ${failure.kind}`);
      return queue.outcome !== "lost";
    },
    async subscribe(wake) {
      queue.wake = wake;
      return async () => void note("unsubscribe");
    },
  };
  const handlers = new Handlers<string>();
  const log = (_fields: object, message: string) => void logged.push(message);
  const settings = resolveReceiverOptions<string>({
    secrets: [secretA],
    inbox: inbox as InboxStore<string>,
    clock,
    random: () => 0.5,
    logger: { info: log, warn: log, error: log },
    pollMs: 1_000,
    leaseMs: 30_000,
    concurrency: 2,
    ...options,
  });
  const worker = new Worker({ ...settings, handlers });
  return { clock, calls, logged, queue, handlers, worker };
}

describe("a worker", () => {
  it("claims as many rows as it has free slots, and more at a time when they are handled quickly", async () => {
    const { worker, queue, handlers, calls, clock } = workerFixture();
    const gates = [deferred(), deferred(), deferred()];
    handlers.on("*", (_, { id }) => gates[Number(id.slice(4)) - 1]?.promise);
    queue.due.push(claimOf(1), claimOf(2), claimOf(3));
    await worker.start();
    await clock.settle();
    expect([calls, worker.running]).toEqual([["0 claim 2"], 2]);
    gates[0]?.resolve();
    await clock.settle();
    expect(calls.slice(1)).toEqual(["0 commit 1", "0 claim 3"]);
    expect(worker.running).toBe(2);
    for (const gate of gates) gate.resolve();
    await worker.stop(0);
  });

  it("polls every pollMs, earlier when a row is due, and at once when the inbox wakes it", async () => {
    const { worker, queue, calls, clock } = workerFixture();
    await worker.start();
    await clock.advance(1_000);
    queue.nextInMs = 300;
    await clock.advance(1_000);
    queue.nextInMs = null;
    await clock.advance(350);
    queue.wake();
    await clock.settle();
    expect(calls).toEqual(["0", "1000", "2000", "2300", "2350"].map((at) => `${at} claim 2`));
    await worker.stop(0);
  });

  it("waits longer after each failed poll, at most 10 s, and logs that events are not claimed", async () => {
    const { worker, queue, calls, logged, clock } = workerFixture();
    queue.failClaims = true;
    await worker.start();
    await clock.advance(100_000);
    const times = calls.map((call) => Number(call.split(" ")[0]));
    expect(times.slice(0, 7)).toEqual([0, 2_000, 6_000, 14_000, 24_000, 34_000, 44_000]);
    expect(worker.claimer.outage.failingForMs).toBe(100_000);
    expect([...new Set(logged)]).toEqual(["events cannot be claimed from the inbox, so none are handled"]);
    await worker.stop(0);
  });

  it("polls less often while nothing is claimed although a row is due, and logs that after a minute", async () => {
    const { worker, queue, handlers, calls, logged, clock } = workerFixture();
    handlers.on("*", () => {});
    queue.nextInMs = 0;
    await worker.start();
    await clock.advance(59_000);
    expect(calls.slice(0, 5)).toEqual(["0", "10", "30", "70", "150"].map((at) => `${at} claim 2`));
    expect([calls.length < 75, logged]).toEqual([true, []]);
    await clock.advance(62_000);
    expect(logged).toEqual(Array(2).fill(expect.stringContaining("no claim gets them")));
    queue.due.push(claimOf(1));
    await clock.advance(1_000);
    expect(worker.counts.done).toBe(1);
    await worker.stop(0);
  });

  it("logs a database that fails now and then as one outage, which ends after ten seconds without a failure", async () => {
    const { worker, queue, logged, clock } = workerFixture();
    await worker.start();
    for (let second = 0; second < 25; second++) {
      queue.failClaims = second % 2 === 0;
      queue.wake();
      await clock.advance(1_000);
    }
    queue.failClaims = false;
    expect(logged).toEqual(Array(3).fill("events cannot be claimed from the inbox, so none are handled"));
    await clock.advance(12_000);
    expect(worker.claimer.outage.failingForMs).toBe(null);
    expect(logged.slice(3)).toEqual(["events are claimed from the inbox again"]);
    await worker.stop(0);
  });

  it("renews the leases of all running attempts together, at every third of leaseMs", async () => {
    const { worker, queue, handlers, calls, clock } = workerFixture();
    const gate = deferred();
    handlers.on("*", () => gate.promise);
    queue.due.push(claimOf(1), claimOf(2));
    await worker.start();
    await clock.advance(20_000);
    expect(calls.filter((call) => call.includes("renew"))).toEqual(["10000 renew 1,2", "20000 renew 1,2"]);
    gate.resolve();
    await worker.stop(0);
    expect(clock.pending().timers).toBe(0);
  });

  it("aborts an attempt once its lease must have ended, while renewals fail", async () => {
    const { worker, queue, handlers, clock } = workerFixture();
    let abortedMs = 0;
    handlers.on("*", async (_, { signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      abortedMs = clock.now() - nowMs;
    });
    queue.due.push(claimOf(1));
    queue.failRenewals = true;
    await worker.start();
    await clock.advance(60_000);
    expect(abortedMs).toBe(30_000);
    await worker.stop(0);
  });

  it("handles the rows of a key one after the other, each with the head that the one before left", async () => {
    const { worker, queue, handlers, calls, clock } = workerFixture({ concurrency: 8 });
    const seen: unknown[] = [];
    handlers.on("*", (_, { id, alreadyApplied }) => void seen.push(`${id} ${alreadyApplied}`));
    queue.due.push(...chainOf(["1", "2", "2"]), claimOf(4));
    await worker.start();
    await clock.settle();
    expect(seen).toEqual(["msg_1 false", "msg_4 false", "msg_2 false", "msg_3 true"]);
    expect(calls).toEqual(["0 claim 8", "0 commit 1", "0 commit 4", "0 commit 2", "0 commit 3"]);
    expect(worker.counts).toMatchObject({ done: 3, stale: 1 });
    await worker.stop(0);
  });

  it("forgets the rows behind one whose lease was lost", async () => {
    const { worker, queue, handlers, calls, clock } = workerFixture({ concurrency: 8 });
    handlers.on("*", () => {});
    queue.due.push(...chainOf(["1", "2", "3"]));
    queue.outcome = "lost";
    await worker.start();
    await clock.advance(40_000);
    expect(calls.filter((call) => /commit|fail|renew/.test(call))).toEqual([
      "0 commit 1",
      "0 fail 1 release",
    ]);
    expect(worker.counts).toMatchObject({ lost: 1, done: 0 });
    await worker.stop(0);
  });

  it("releases the rows behind an attempt in progress when its end is recorded, and waits for both", async () => {
    const { worker, queue, handlers, calls, clock } = workerFixture({ concurrency: 3 });
    const recorded = deferred();
    handlers.on("*", () => {});
    queue.commit = () => recorded.promise;
    queue.due.push(...chainOf(["1", "2", "3"]));
    await worker.start();
    await clock.settle();
    const stopped = worker.stop(10_000);
    await clock.settle();
    expect(calls.filter((call) => /commit|fail/.test(call))).toEqual(["0 commit 1"]);
    recorded.resolve();
    await stopped;
    expect(calls.slice(-2)).toEqual(["0 fail 2 release", "0 fail 3 release"]);
    expect(clock.pending().timers).toBe(0);
  });

  it("starts no further handlers while the inbox does not record the ends of earlier ones", async () => {
    const { worker, queue, handlers, clock } = workerFixture({ concurrency: 1 });
    let handled = 0;
    handlers.on("*", () => void handled++);
    queue.due.push(...Array.from({ length: 2_000 }, (_, index) => claimOf(index + 1)));
    queue.commit = () => new Promise(() => {});
    await worker.start();
    await clock.advance(5_000);
    expect(handled).toBeLessThanOrEqual(257);
    void worker.stop(0);
    await clock.advance(5_000);
  });

  it("starts no further row of a key when the process was paused for longer than the lease", async () => {
    const clock = createVirtualClock(nowMs);
    let pausedMs = 0;
    const pausable = {
      now: () => clock.now() + pausedMs,
      monotonic: () => clock.monotonic() + pausedMs,
      schedule: clock.schedule.bind(clock),
    };
    const { worker, queue, handlers } = workerFixture({ concurrency: 8, clock: pausable });
    const seen: string[] = [];
    handlers.on("*", (_, { id }) => void seen.push(id));
    const recorded = deferred();
    queue.commit = () => recorded.promise;
    queue.due.push(...chainOf(["1", "2"]));
    await worker.start();
    await clock.settle();
    pausedMs = 31_000;
    recorded.resolve();
    await clock.settle();
    expect(seen).toEqual(["msg_1"]);
    await worker.stop(0);
  });

  it("reports a row whose lease expired at its last attempt, and ignores what onDead throws", async () => {
    const dead: string[] = [];
    const { worker, queue, logged, clock } = workerFixture({
      onDead(row: InboxRowReference, error: Error) {
        dead.push(`${row.id}: ${error.message}`);
        throw new Error("listener");
      },
    });
    queue.died.push({ source: "default", id: "msg_7", error: "the lease expired" });
    await worker.start();
    await clock.settle();
    expect(dead).toEqual(["msg_7: the lease expired"]);
    expect(logged).toEqual(["an event is dead: it failed at its last attempt", "onDead failed"]);
    expect(worker.counts.dead).toBe(1);
    await worker.stop(0);
  });
});
