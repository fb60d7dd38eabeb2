// The promises of every inbox, as tests.

import { describe, expect, it } from "vitest";
import type { VirtualClock } from "workspace-tasks/mock-server";
import type { Inbox, InboxClaim, InboxClaimOptions } from "workspace-tasks/receiver-kit";
import { encodePosition } from "../../receiver-kit/event/event-order.ts";
import { claimOptions, completedAt, doneWith, instant, newRowOf, runningAt } from "./inbox-rows.ts";
import { sampleEvent, stageEvent } from "./sample-event.ts";

/** A fresh, open inbox under a clock that the test moves. */
export interface InboxFixture extends AsyncDisposable {
  readonly inbox: Inbox;
  readonly clock: VirtualClock;
  /** A second handle on the same rows: another process, or the same after a restart. */
  reopen(): Promise<Inbox>;
  /** Records a handler's write in its transaction, and reads back which writes were kept. */
  readonly effects: {
    write(transaction: unknown, name: string): Promise<void>;
    kept(): Promise<readonly string[]>;
  };
}

export const limits = { timeoutMs: 60_000 };
const retry = { firstDelayMs: 60_000, delayMsMax: 60_000 };

export function describeInbox(name: string, create: () => Promise<InboxFixture>): void {
  describe(`${name}: storing`, () => {
    it("keeps a delivery for a process that opens the inbox later (I1)", async () => {
      await using fixture = await create();
      const newRow = runningAt("task-1", 1);
      expect(await fixture.inbox.insert(newRow)).toEqual({ outcome: "new" });
      const later = await fixture.reopen();
      const row = await later.get(newRow);
      expect(row).toMatchObject({
        state: "pending",
        event: "task.running",
        attempts: 0,
        receivedAtMs: fixture.clock.now(),
      });
      expect(Buffer.from(row?.body ?? [])).toEqual(Buffer.from(newRow.body));
    });

    it("stores any bytes unchanged", async () => {
      await using fixture = await create();
      const body = Buffer.from([0, 255, 254, 0, 0xc3, 0x28, 34, 39, 92]);
      await fixture.inbox.insert(runningAt("task-1", 1, { id: "bytes", body }));
      const row = await fixture.inbox.get({ source: "default", id: "bytes" });
      expect(Buffer.from(row?.body ?? [])).toEqual(body);
    });

    it("stores the body of each of many concurrent deliveries, and compares each duplicate with its own", async () => {
      await using fixture = await create();
      const newRows = Array.from({ length: 60 }, (_, index) => {
        const body = Buffer.alloc((index * 37) % 501, index);
        return runningAt(`task-${index}`, 1, { id: `msg_${index}`, body });
      });
      const insertAll = (changed: (index: number) => boolean) =>
        Promise.all(
          newRows.map((newRow, index) =>
            fixture.inbox.insert(changed(index) ? { ...newRow, body: Buffer.from("other") } : newRow),
          ),
        );
      await insertAll(() => false);
      for (const newRow of newRows) {
        const row = await fixture.inbox.get(newRow);
        expect(Buffer.from(row?.body ?? [1])).toEqual(newRow.body);
      }
      const isOdd = (index: number) => index % 2 === 1;
      const repeats = await insertAll(isOdd);
      expect(repeats).toEqual(newRows.map((_, index) => ({ outcome: "duplicate", sameBody: !isOdd(index) })));
    });

    it("stores an id once for concurrent copies through several processes (I2)", async () => {
      await using fixture = await create();
      const other = await fixture.reopen();
      const newRow = runningAt("task-1", 1);
      const copies = Array.from({ length: 50 }, (_, index) =>
        (index % 2 ? fixture.inbox : other).insert(newRow),
      );
      const outcomes = (await Promise.all(copies)).map(({ outcome }) => outcome);
      expect(outcomes.filter((outcome) => outcome === "new")).toHaveLength(1);
      expect(await fixture.inbox.list({})).toHaveLength(1);
    });

    it("reports whether a duplicate has the same body as the first", async () => {
      await using fixture = await create();
      const newRow = runningAt("task-1", 1);
      await fixture.inbox.insert(newRow);
      expect(await fixture.inbox.insert(newRow)).toEqual({ outcome: "duplicate", sameBody: true });
      const other = { ...newRow, body: Buffer.from("{}") };
      expect(await fixture.inbox.insert(other)).toEqual({ outcome: "duplicate", sameBody: false });
      const row = await fixture.inbox.get(newRow);
      expect(Buffer.from(row?.body ?? [])).toEqual(Buffer.from(newRow.body));
    });

    it("distinguishes ids by source, by case and by every character", async () => {
      await using fixture = await create();
      const ids = ["msg_a", "msg_A", "msg.a", "msg_a."];
      for (const source of ["default", "other"]) {
        for (const id of ids) {
          expect(await fixture.inbox.insert(runningAt("task-1", 1, { id, source }))).toEqual({
            outcome: "new",
          });
        }
      }
      expect(await fixture.inbox.list({ source: "other" })).toHaveLength(ids.length);
    });

    it("stores a quarantined delivery, which no worker claims", async () => {
      await using fixture = await create();
      await fixture.inbox.insert(runningAt("task-1", 1, { id: "odd", quarantine: "body is not JSON" }));
      expect((await fixture.inbox.claim(claimOptions())).claims).toEqual([]);
      const [row] = await fixture.inbox.list({ states: ["quarantined"] });
      expect(row).toMatchObject({ id: "odd", lastError: "body is not JSON" });
    });

    it("lists rows newest first, in pages without repetition", async () => {
      await using fixture = await create();
      for (let n = 0; n < 7; n++) await fixture.inbox.insert(runningAt("task-1", n, { id: `msg_${n}` }));
      const first = await fixture.inbox.list({ limit: 4 });
      const rest = await fixture.inbox.list({ limit: 4, beforeSeq: first.at(-1)?.seq ?? 0 });
      expect([...first, ...rest].map(({ id }) => id)).toEqual([6, 5, 4, 3, 2, 1, 0].map((n) => `msg_${n}`));
      expect(await fixture.inbox.list({ states: ["dead"] })).toEqual([]);
    });
  });

  describe(`${name}: claiming`, () => {
    it("gives a row to one worker only, and counts the attempt", async () => {
      await using fixture = await create();
      const other = await fixture.reopen();
      for (let n = 0; n < 20; n++) await fixture.inbox.insert(runningAt(`task-${n}`, 1));
      const results = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          (index % 2 ? fixture.inbox : other).claim(claimOptions({ worker: `worker-${index}`, rowsMax: 5 })),
        ),
      );
      const seqs = results.flatMap(({ claims }) => claims.map(({ seq }) => seq));
      expect(seqs).toHaveLength(20);
      expect(new Set(seqs).size).toBe(20);
      expect(results.flatMap(({ claims }) => claims.map(({ attempts }) => attempts))).toEqual(
        Array(20).fill(1),
      );
    });

    it("lets one row of a key run at a time, oldest event first, in any order of arrival", async () => {
      await using fixture = await create();
      for (const second of [3, 1, 2])
        await fixture.inbox.insert(runningAt("task-1", second, { id: `at-${second}` }));
      const order: string[] = [];
      for (let turn = 0; turn < 3; turn++) {
        const { claims } = await fixture.inbox.claim(claimOptions());
        expect(claims).toHaveLength(1);
        expect((await fixture.inbox.claim(claimOptions({ worker: "worker-2" }))).claims).toEqual([]);
        order.push(claims[0]!.id);
        await settle(fixture.inbox, claims[0]!);
      }
      expect(order).toEqual(["at-1", "at-2", "at-3"]);
    });

    it("claims one of two deliveries of the same event at a time", async () => {
      await using fixture = await create();
      const event = sampleEvent({ taskId: "task-1" });
      await fixture.inbox.insert(newRowOf(event, { id: "one" }));
      await fixture.inbox.insert(newRowOf(event, { id: "two" }));
      expect((await fixture.inbox.claim(claimOptions())).claims.map(({ id }) => id)).toEqual(["one"]);
    });

    it("claims rows of a task, of its stages and of other tasks at the same time", async () => {
      await using fixture = await create();
      await fixture.inbox.insert(runningAt("task-1", 1));
      await fixture.inbox.insert(runningAt("task-2", 1));
      await fixture.inbox.insert(newRowOf(stageEvent({ taskId: "task-1", subTaskId: "stage-1" })));
      await fixture.inbox.insert(newRowOf(stageEvent({ taskId: "task-1", subTaskId: "stage-2" })));
      expect((await fixture.inbox.claim(claimOptions())).claims).toHaveLength(4);
    });

    it("claims only the rows of its source", async () => {
      await using fixture = await create();
      await fixture.inbox.insert(runningAt("task-1", 1, { source: "other" }));
      expect((await fixture.inbox.claim(claimOptions())).claims).toEqual([]);
      expect((await fixture.inbox.claim(claimOptions({ source: "other" }))).claims).toHaveLength(1);
    });

    it("claims newer events of a key before one that waits for its retry, unless keyOrder is strict", async () => {
      await using fixture = await create();
      await fixture.inbox.insert(runningAt("task-1", 1, { id: "first" }));
      const [first] = (await fixture.inbox.claim(claimOptions())).claims;
      await fixture.inbox.fail(first!, { kind: "retry", delayMs: 60_000, error: "no" });
      await fixture.inbox.insert(completedAt("task-1", 2, { id: "second" }));
      expect((await fixture.inbox.claim(claimOptions({ keyOrder: "strict", retry }))).claims).toEqual([]);
      // As at the start of a receiver, whose order may have been changed.
      await fixture.inbox.repairTimes({ source: "default", retry, keyOrder: "latest" });
      const { claims } = await fixture.inbox.claim(claimOptions({ keyOrder: "latest", retry }));
      expect(claims.map(({ id }) => id)).toEqual(["second"]);
    });

    it("claims bodies of up to bytesMax, a larger one alone, and reports that more rows are due", async () => {
      await using fixture = await create();
      const insert = (task: string, second: number, bytes: number) =>
        fixture.inbox.insert(runningAt(task, second, { id: `${task}-${second}`, body: Buffer.alloc(bytes) }));
      await insert("a", 1, 600);
      await insert("b", 1, 300);
      await insert("b", 2, 500);
      await insert("c", 1, 2_000);
      const claim = async (worker: string) => {
        const limits = { worker, bytesMax: 1_000, rowsPerKeyMax: 5 };
        const { claims, nextInMs } = await fixture.inbox.claim(claimOptions(limits));
        return [...claims.map(({ id }) => id), nextInMs === 0];
      };
      expect(await claim("worker-1")).toEqual(["a-1", "b-1", true]);
      expect(await claim("worker-2")).toEqual(["c-1", false]);
    });

    it("returns the time until the next row is due", async () => {
      await using fixture = await create();
      expect((await fixture.inbox.claim(claimOptions({ retry }))).nextInMs).toBeNull();
      await fixture.inbox.insert(runningAt("task-1", 1));
      const [claim] = (await fixture.inbox.claim(claimOptions({ retry }))).claims;
      await fixture.inbox.fail(claim!, { kind: "retry", delayMs: 5_000, error: "no" });
      expect((await fixture.inbox.claim(claimOptions({ retry }))).nextInMs).toBe(5_000);
      await fixture.clock.advance(4_999);
      expect((await fixture.inbox.claim(claimOptions({ retry }))).claims).toEqual([]);
      await fixture.clock.advance(1);
      expect((await fixture.inbox.claim(claimOptions({ retry }))).claims).toHaveLength(1);
    });
  });

  describe(`${name}: sources`, () => {
    it("keeps the signing secret's index and the trace of a delivery", async () => {
      await using fixture = await create();
      const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
      await fixture.inbox.insert(runningAt("task-1", 1, { secretIndex: 3, traceparent }));
      await fixture.inbox.insert(runningAt("task-2", 1, { secretIndex: null, traceparent: null }));
      const { claims } = await fixture.inbox.claim(claimOptions());
      expect(claims).toMatchObject([
        { secretIndex: 3, traceparent },
        { secretIndex: null, traceparent: null },
      ]);
    });

    it("lists a source and its tenants that have pending or running rows, and when each may be claimed", async () => {
      await using fixture = await create();
      const { inbox, clock } = fixture;
      const others = ["default-2/a", "default.x", "default0", "other", "Default/a"];
      for (const source of ["default/b", "default", "default/a", "default/c", ...others]) {
        await inbox.insert(runningAt("task-1", 1, { source }));
      }
      const waiting = (source: string) => inbox.waitingSources(source);
      expect(await waiting("default")).toEqual(
        ["default", "default/a", "default/b", "default/c"].map((source) => ({ source, dueInMs: 0 })),
      );
      expect(await waiting("default-2")).toEqual([{ source: "default-2/a", dueInMs: 0 }]);
      expect(await waiting("nothing")).toEqual([]);
      const [a, b] = ["default/a", "default/b"].map((source) => claimOptions({ source, leaseMs: 30_000 }));
      await inbox.claim(a as InboxClaimOptions);
      const { claims } = await inbox.claim(b as InboxClaimOptions);
      await inbox.fail(claims[0] as InboxClaim, { kind: "retry", delayMs: 5_000, error: "failed" });
      await clock.advance(1_000);
      expect(await waiting("default")).toEqual([
        { source: "default", dueInMs: -1_000 },
        { source: "default/a", dueInMs: 29_000 },
        { source: "default/b", dueInMs: 4_000 },
        { source: "default/c", dueInMs: -1_000 },
      ]);
    });
  });

  describe(`${name}: leases and fencing`, () => {
    it("gives a row to another worker once its lease expired, and fences the first worker off", async () => {
      await using fixture = await create();
      await fixture.inbox.insert(runningAt("task-1", 1));
      const [paused] = (await fixture.inbox.claim(claimOptions({ leaseMs: 1_000 }))).claims;
      await fixture.clock.advance(1_000);
      const [other] = (await fixture.inbox.claim(claimOptions({ worker: "worker-2" }))).claims;
      expect(other).toMatchObject({ seq: paused!.seq, attempts: 2 });
      expect(other?.lease.generation).toBe(paused!.lease.generation + 1);

      expect(await fixture.inbox.fail(paused!, { kind: "dead", error: "late" })).toBe(false);
      expect(await settle(fixture.inbox, paused!)).toBe("lost");
      expect(await fixture.inbox.renew([paused!.lease], 1_000)).toEqual(new Set());
      expect(await settle(fixture.inbox, other!)).toBe("settled");
    });

    it("fences off a worker with another name and the same generation", async () => {
      await using fixture = await create();
      await fixture.inbox.insert(runningAt("task-1", 1));
      const [claim] = (await fixture.inbox.claim(claimOptions())).claims;
      const lease = { ...claim!.lease, worker: "worker-2" };
      expect(await settle(fixture.inbox, { ...claim!, lease })).toBe("lost");
      expect(await settle(fixture.inbox, claim!)).toBe("settled");
    });

    it("fences off the worker of a row that was replayed with another key meanwhile", async () => {
      await using fixture = await create();
      await fixture.inbox.insert(runningAt("task-1", 1, { id: "moved" }));
      await fixture.inbox.insert(runningAt("task-1", 2, { id: "other" }));
      const [first, second] = (await fixture.inbox.claim(claimOptions({ rowsPerKeyMax: 2 }))).claims;
      expect(await settle(fixture.inbox, first!)).toBe("settled");
      expect(await fixture.inbox.replay(first!, runningAt("task-2", 1))).toBe(true);
      const [replayed] = (await fixture.inbox.claim(claimOptions({ worker: "worker-2" }))).claims;
      expect(replayed).toMatchObject({ id: "moved", orderKey: '["task-2"]' });
      expect(await fixture.inbox.fail(first!, { kind: "dead", error: "late" })).toBe(false);
      expect(await settle(fixture.inbox, replayed!)).toBe("settled");
      expect(await settle(fixture.inbox, second!)).toBe("settled");
    });

    it("keeps a renewed lease", async () => {
      await using fixture = await create();
      await fixture.inbox.insert(runningAt("task-1", 1));
      const [claim] = (await fixture.inbox.claim(claimOptions({ leaseMs: 1_000 }))).claims;
      await fixture.clock.advance(900);
      expect(await fixture.inbox.renew([claim!.lease], 1_000)).toEqual(new Set([claim!.lease]));
      await fixture.clock.advance(900);
      expect((await fixture.inbox.claim(claimOptions({ worker: "worker-2" }))).claims).toEqual([]);
      expect(await settle(fixture.inbox, claim!)).toBe("settled");
    });

    it("makes a row dead whose lease expired at the last attempt, and reports it once", async () => {
      await using fixture = await create();
      const newRow = runningAt("task-1", 1);
      await fixture.inbox.insert(newRow);
      for (let attempt = 1; attempt <= 3; attempt++) {
        expect((await fixture.inbox.claim(claimOptions({ leaseMs: 1_000 }))).claims).toHaveLength(1);
        await fixture.clock.advance(1_000);
      }
      expect((await fixture.inbox.claim(claimOptions())).died).toEqual([
        { source: "default", id: newRow.id },
      ]);
      expect((await fixture.inbox.claim(claimOptions())).died).toEqual([]);
      expect(await fixture.inbox.get(newRow)).toMatchObject({ state: "dead", attempts: 3 });
    });

    it("makes a released row due at once, without counting the attempt", async () => {
      await using fixture = await create();
      const newRow = runningAt("task-1", 1);
      await fixture.inbox.insert(newRow);
      const [claim] = (await fixture.inbox.claim(claimOptions())).claims;
      expect(await fixture.inbox.fail(claim!, { kind: "release" })).toBe(true);
      expect(await fixture.inbox.get(newRow)).toMatchObject({ state: "pending", attempts: 0 });
      expect((await fixture.inbox.claim(claimOptions({ worker: "worker-2" }))).claims).toHaveLength(1);
    });
  });

  describe(`${name}: order`, () => {
    it("never moves a head backwards (I3)", async () => {
      await using fixture = await create();
      const [older, newer] = [runningAt("task-1", 1), completedAt("task-1", 2)];
      await fixture.inbox.insert(newer);
      expect(await settle(fixture.inbox, await claimOne(fixture.inbox))).toBe("settled");
      await fixture.inbox.insert(older);
      const late = await claimOne(fixture.inbox);
      expect(late.head).toBe(newer.position);
      expect(await settle(fixture.inbox, late)).toBe("settled-stale");
      expect(await fixture.inbox.head("default", newer.orderKey!)).toEqual({
        position: newer.position,
        status: "COMPLETED",
        unchangedMs: 0,
      });
      expect(await fixture.inbox.get(older)).toMatchObject({ state: "stale" });
    });

    it("does not apply the same event again, unless it is replayed", async () => {
      await using fixture = await create();
      const event = sampleEvent({ taskId: "task-1" });
      for (const id of ["one", "two", "three"]) await fixture.inbox.insert(newRowOf(event, { id }));
      expect(await settle(fixture.inbox, await claimOne(fixture.inbox))).toBe("settled");
      expect(await settle(fixture.inbox, await claimOne(fixture.inbox))).toBe("settled-stale");
      const third = await claimOne(fixture.inbox);
      expect(await settle(fixture.inbox, third, doneWith(third, { allowSame: true }))).toBe("settled");
    });

    it("distinguishes positions one microsecond apart", async () => {
      await using fixture = await create();
      const at = (fraction: string) =>
        newRowOf(sampleEvent({ taskId: "task-1", occurredAt: `2026-03-01T00:00:00.${fraction}Z` }));
      await fixture.inbox.insert(at("123457"));
      expect(await settle(fixture.inbox, await claimOne(fixture.inbox))).toBe("settled");
      await fixture.inbox.insert(at("123456"));
      expect(await settle(fixture.inbox, await claimOne(fixture.inbox))).toBe("settled-stale");
    });

    it("settles many concurrent rows, each with its own outcome", async () => {
      await using fixture = await create();
      const tasks = Array.from({ length: 12 }, (_, n) => `task-${n}`);
      for (const task of tasks) await fixture.inbox.insert(runningAt(task, 5, { id: `new-${task}` }));
      const { claims } = await fixture.inbox.claim(claimOptions({ rowsMax: 20 }));
      await Promise.all(claims.map((claim) => settle(fixture.inbox, claim)));
      for (const [n, task] of tasks.entries()) {
        await fixture.inbox.insert(runningAt(task, n % 2 ? 9 : 1, { id: `next-${task}` }));
      }
      const next = await fixture.inbox.claim(claimOptions({ rowsMax: 20 }));
      const [claimed] = next.claims;
      const lost = { ...claimed!, lease: { ...claimed!.lease, worker: "unknown" } };
      const outcomes = await Promise.all(
        [lost, ...next.claims.slice(1)].map((claim) => settle(fixture.inbox, claim)),
      );
      const expected = tasks.map((_, n) => (n === 0 ? "lost" : n % 2 ? "settled" : "settled-stale"));
      expect(outcomes).toEqual(expected);
    });
  });

  describe(`${name}: handlers' transactions`, () => {
    it("commits a handler's write, the settled row and the head together (I4)", async () => {
      await using fixture = await create();
      const newRow = runningAt("task-1", 1);
      await fixture.inbox.insert(newRow);
      const claim = await claimOne(fixture.inbox);
      const transaction = fixture.inbox.begin(claim, doneWith(claim), limits);
      await fixture.effects.write(transaction.handle, "first");
      await fixture.effects.write(transaction.handle, "second");
      expect(await transaction.commit()).toBe("settled");
      expect(await fixture.effects.kept()).toEqual(["first", "second"]);
      expect(await fixture.inbox.get(newRow)).toMatchObject({ state: "done" });
      expect((await fixture.inbox.head("default", newRow.orderKey!))?.position).toBe(newRow.position);
    });

    it("discards the writes of a transaction that is rolled back", async () => {
      await using fixture = await create();
      const newRow = runningAt("task-1", 1);
      await fixture.inbox.insert(newRow);
      const claim = await claimOne(fixture.inbox);
      const transaction = fixture.inbox.begin(claim, doneWith(claim), limits);
      await fixture.effects.write(transaction.handle, "never");
      await transaction.rollback();
      await expect(fixture.effects.write(transaction.handle, "late")).rejects.toMatchObject({
        code: "TRANSACTION_ENDED",
      });
      expect(await fixture.effects.kept()).toEqual([]);
      expect(await fixture.inbox.get(newRow)).toMatchObject({ state: "running" });
      expect(await fixture.inbox.head("default", newRow.orderKey!)).toBeUndefined();
    });

    it("discards the writes of a worker that lost its lease", async () => {
      await using fixture = await create();
      await fixture.inbox.insert(runningAt("task-1", 1));
      const [paused] = (await fixture.inbox.claim(claimOptions({ leaseMs: 1_000 }))).claims;
      await fixture.clock.advance(1_000);
      const other = await claimOne(fixture.inbox, "worker-2");
      const late = fixture.inbox.begin(paused!, doneWith(paused!), limits);
      await fixture.effects.write(late.handle, "paused").catch((error: { code?: string }) => {
        expect(error.code).toBe("LEASE_LOST");
      });
      expect(await late.commit()).toBe("lost");
      const transaction = fixture.inbox.begin(other, doneWith(other), limits);
      await fixture.effects.write(transaction.handle, "other");
      expect(await transaction.commit()).toBe("settled");
      expect(await fixture.effects.kept()).toEqual(["other"]);
    });

    it("discards the writes when something newer was applied before, and keeps the row to be handled as stale", async () => {
      await using fixture = await create();
      const newRow = runningAt("task-1", 1);
      await fixture.inbox.insert(newRow);
      const claim = await claimOne(fixture.inbox);
      await fixture.inbox.advanceHead({
        source: "default",
        key: newRow.orderKey!,
        position: encodePosition({ occurredAt: 2_000_000_000n * 1_000_000_000n, rank: 1, id: "x" }),
      });
      const transaction = fixture.inbox.begin(claim, doneWith(claim), limits);
      await fixture.effects.write(transaction.handle, "old").catch((error: { code?: string }) => {
        expect(error.code).toBe("SUPERSEDED");
      });
      expect(await transaction.commit()).toBe("superseded");
      expect(await fixture.effects.kept()).toEqual([]);
      expect(await fixture.inbox.fail(claim, { kind: "release" })).toBe(true);
    });

    it("stores deliveries while a handler's transaction has not begun", async () => {
      await using fixture = await create();
      await fixture.inbox.insert(runningAt("task-1", 1));
      const claim = await claimOne(fixture.inbox);
      const transaction = fixture.inbox.begin(claim, doneWith(claim), limits);
      expect(await fixture.inbox.insert(runningAt("task-2", 1))).toEqual({ outcome: "new" });
      expect(await transaction.commit()).toBe("settled");
    });
  });

  describe(`${name}: replay, discard, retention`, () => {
    it("makes dead, quarantined and settled rows pending again, and keeps tother ids", async () => {
      await using fixture = await create();
      const newRow = runningAt("task-1", 1);
      await fixture.inbox.insert(newRow);
      const claim = await claimOne(fixture.inbox);
      expect(await fixture.inbox.replay(newRow, newRow)).toBe(false);
      await fixture.inbox.fail(claim, { kind: "dead", error: "broken" });
      expect(await fixture.inbox.replay(newRow, newRow)).toBe(true);
      expect(await fixture.inbox.replay(newRow, newRow)).toBe(false);
      expect(await fixture.inbox.insert(newRow)).toMatchObject({ outcome: "duplicate" });
      const again = await claimOne(fixture.inbox);
      expect(again).toMatchObject({ attempts: 1, replays: 1 });
      expect(await settle(fixture.inbox, again)).toBe("settled");
      expect(await fixture.inbox.replay(newRow, newRow)).toBe(true);
      expect(await fixture.inbox.replay({ source: "default", id: "absent" }, newRow)).toBe(false);
    });

    it("discards dead and quarantined rows, and no others", async () => {
      await using fixture = await create();
      const newRow = runningAt("task-1", 1);
      await fixture.inbox.insert(newRow);
      expect(await fixture.inbox.discard(newRow)).toBe(false);
      await fixture.inbox.fail(await claimOne(fixture.inbox), { kind: "dead", error: "broken" });
      expect(await fixture.inbox.discard(newRow)).toBe(true);
      expect(await fixture.inbox.get(newRow)).toMatchObject({ state: "discarded" });
    });

    it("removes bodies first, settled rows later, heads last, and no dead or quarantined rows", async () => {
      await using fixture = await create();
      const [settled, dead] = [runningAt("task-1", 1), runningAt("task-2", 1)];
      await fixture.inbox.insert(settled);
      await settle(fixture.inbox, await claimOne(fixture.inbox));
      await fixture.inbox.insert(dead);
      await fixture.inbox.fail(await claimOne(fixture.inbox), { kind: "dead", error: "broken" });
      await fixture.inbox.insert(runningAt("task-3", 1, { id: "waiting" }));
      const retention = { bodiesMs: 1_000, rowsMs: 5_000, headsMs: 9_000, unhandledBodiesMs: 20_000 };
      expect(await fixture.inbox.purge(retention, 100)).toBe(0);

      await fixture.clock.advance(1_000);
      expect(await fixture.inbox.purge(retention, 100)).toBe(1);
      expect(await fixture.inbox.get(settled)).toMatchObject({ state: "done", bodyBytes: null, body: null });
      expect(await fixture.inbox.insert(settled)).toEqual({ outcome: "duplicate", sameBody: null });
      expect(await fixture.inbox.replay(settled, settled)).toBe(false);

      await fixture.clock.advance(4_000);
      expect(await fixture.inbox.purge(retention, 100)).toBe(1);
      expect(await fixture.inbox.get(settled)).toBeUndefined();
      // Its id is forgotten, but the head still knows: a repetition changes no state.
      await fixture.inbox.insert(settled);
      const { claims } = await fixture.inbox.claim(claimOptions());
      const repeated = claims.find(({ id }) => id === settled.id)!;
      expect(repeated.head).toBe(settled.position);

      // A head is kept as long as a row of its key waits.
      await fixture.clock.advance(4_000);
      expect(await fixture.inbox.purge(retention, 100)).toBe(0);
      expect(await settle(fixture.inbox, repeated)).toBe("settled-stale");
      expect(await fixture.inbox.purge(retention, 100)).toBe(2);
      expect(await fixture.inbox.head("default", settled.orderKey!)).toBeUndefined();
      expect(await fixture.inbox.get(dead)).toMatchObject({ state: "dead", bodyBytes: dead.body.byteLength });
      expect(await fixture.inbox.get({ source: "default", id: "waiting" })).toBeDefined();
    });

    it("removes at most the given number of rows", async () => {
      await using fixture = await create();
      for (let n = 0; n < 5; n++) {
        await fixture.inbox.insert(runningAt(`task-${n}`, 1));
        await settle(fixture.inbox, await claimOne(fixture.inbox));
      }
      await fixture.clock.advance(10_000);
      const retention = { bodiesMs: 1_000, rowsMs: 5_000, headsMs: 90_000, unhandledBodiesMs: 1_000 };
      const steps: number[] = [];
      for (let touched = 1; touched > 0; steps.push(touched))
        touched = await fixture.inbox.purge(retention, 2);
      expect(Math.max(...steps)).toBeLessThanOrEqual(4);
      expect(await fixture.inbox.list({})).toEqual([]);
    });
  });

  describe(`${name}: statistics`, () => {
    it("counts rows by state and returns the longest wait", async () => {
      await using fixture = await create();
      expect((await fixture.inbox.stats()).oldestPendingMs).toBeNull();
      await fixture.inbox.insert(runningAt("task-1", 1));
      await settle(fixture.inbox, await claimOne(fixture.inbox));
      await fixture.inbox.insert(runningAt("task-2", 1));
      await fixture.inbox.insert(runningAt("task-3", 1, { quarantine: "odd" }));
      await fixture.clock.advance(1_500);
      const stats = await fixture.inbox.stats();
      expect(stats.rows).toMatchObject({ done: 1, pending: 1, quarantined: 1, dead: 0 });
      expect(stats.oldestPendingMs).toBe(1_500);
    });

    it("counts pending and running rows up to a limit", async () => {
      await using fixture = await create();
      for (let n = 0; n < 4; n++) await fixture.inbox.insert(runningAt(`task-${n}`, 1));
      await claimOne(fixture.inbox);
      expect(await fixture.inbox.backlog("default", 100)).toBe(4);
      expect(await fixture.inbox.backlog("default", 3)).toBe(3);
      expect(await fixture.inbox.backlog("other", 100)).toBe(0);
    });
  });

  describe(`${name}: rows applied by a request`, () => {
    const webhook = { id: "msg_inline", timestamp: 1_772_357_400, body: Buffer.from("{}"), secretIndex: 0 };
    const begin = (inbox: Inbox) => inbox.beginInline(webhook, { source: "default", leaseMs: 1_000 });

    it("lets one caller begin, reports busy to others, and done after the end", async () => {
      await using fixture = await create();
      expect(await begin(fixture.inbox)).toEqual({ state: "begun", generation: 1 });
      await fixture.clock.advance(400);
      expect(await begin(fixture.inbox)).toEqual({ state: "busy", retryAfterMs: 600 });
      expect((await fixture.inbox.claim(claimOptions())).claims).toEqual([]);
      const done = { source: "default", generation: 1, outcome: "done" } as const;
      expect(await fixture.inbox.finishInline(webhook.id, done)).toBe(true);
      expect(await begin(fixture.inbox)).toEqual({ state: "done" });
    });

    it("begins again after a failure or a lost lease, and fences the earlier caller off", async () => {
      await using fixture = await create();
      await begin(fixture.inbox);
      const failed = { source: "default", generation: 1, outcome: "failed" } as const;
      expect(await fixture.inbox.finishInline(webhook.id, failed)).toBe(true);
      expect(await begin(fixture.inbox)).toEqual({ state: "begun", generation: 2 });
      await fixture.clock.advance(1_000);
      expect((await fixture.inbox.claim(claimOptions())).claims).toEqual([]);
      expect(await begin(fixture.inbox)).toEqual({ state: "begun", generation: 3 });
      const late = { source: "default", generation: 2, outcome: "done" } as const;
      expect(await fixture.inbox.finishInline(webhook.id, late)).toBe(false);
    });

    it("reports ids as done that were stored in another way", async () => {
      await using fixture = await create();
      await fixture.inbox.insert(runningAt("task-1", 1, { id: webhook.id }));
      expect(await begin(fixture.inbox)).toEqual({ state: "done" });
    });

    it("advances a head only, and recognises the event that advanced it", async () => {
      await using fixture = await create();
      const move = (occurredAt: bigint, rank = 0, id = "a") =>
        fixture.inbox.advanceHead({
          source: "default",
          key: '["task-1"]',
          position: encodePosition({ occurredAt, rank, id }),
        });
      expect(await move(5n)).toBe("newer");
      expect(await move(5n)).toBe("same");
      expect(await move(4n)).toBe("stale");
      expect(await move(-62_135_596_800_000_000_000n)).toBe("stale");
      expect(await move(5n, 1)).toBe("newer");
      expect(await move(5n, 1, "b")).toBe("newer");
      expect(await move(5n, 1, "B")).toBe("stale");
      expect(await move(253_402_300_799_999_999_999n)).toBe("newer");
      expect(await move(9_000_000_000_000_000_000n)).toBe("stale");
    });

    it("lets one of many callers advance a head to one position", async () => {
      await using fixture = await create();
      const other = await fixture.reopen();
      const order = newRowOf(sampleEvent({ taskId: "task-1", occurredAt: instant(1) }));
      const position = encodePosition({ occurredAt: 1n, rank: 0, id: "a" });
      const verdicts = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          (index % 2 ? fixture.inbox : other).advanceHead({
            source: "default",
            key: order.orderKey!,
            position,
          }),
        ),
      );
      expect(verdicts.filter((verdict) => verdict === "newer")).toHaveLength(1);
    });
  });
}

export async function claimOne(inbox: Inbox, worker = "worker-1"): Promise<InboxClaim> {
  const { claims } = await inbox.claim(claimOptions({ worker, rowsMax: 1 }));
  expect(claims).toHaveLength(1);
  return claims[0]!;
}

export function settle(inbox: Inbox, claim: InboxClaim, settlement = doneWith(claim)) {
  return inbox.begin(claim, settlement, limits).commit();
}
