import { expect } from "vitest";
import type { InboxRowFilter } from "../../../receiver-kit/inbox/inbox.ts";
import { claimOptions } from "../inbox-rows.ts";
import {
  begin as beginRows,
  bodyBytes,
  claimIds,
  claimOne,
  doneWith,
  rowAt,
  settle,
  source,
} from "./contract-rows.ts";
import type { Checks, InboxFixture } from "./inbox-fixture.ts";

const webhook = { id: "msg_inline", timestamp: 1_772_357_400, body: Buffer.from("{}"), secretIndex: 0 };
const begin = ({ inbox }: InboxFixture) => inbox.beginInline(webhook, { source, leaseMs: 1_000 });

export const operatorChecks: Checks = {
  async "makes dead and settled rows pending again, and keeps their ids"({ inbox }) {
    const row = rowAt("task-1", 1);
    await inbox.insert(row);
    expect(await inbox.replay(row, row)).toBe(false);
    const claim = await claimOne(inbox);
    expect(await inbox.replay(row, row)).toBe(false);
    await inbox.fail(claim, { kind: "dead", error: "broken" });
    expect(await inbox.replay(row, row)).toBe(true);
    expect(await inbox.replay(row, row)).toBe(false);
    expect(await inbox.insert(row)).toMatchObject({ outcome: "duplicate" });
    const again = await claimOne(inbox);
    expect(again).toMatchObject({ attempts: 1, replays: 1 });
    expect(bodyBytes(again.body)).toEqual(row.body);
    expect(await settle(inbox, again)).toBe("settled");
    expect(await inbox.get(row)).toMatchObject({ state: "done", attempts: 1 });
    expect(await inbox.replay(row, row)).toBe(true);
    expect(await inbox.replay({ source, id: "absent" }, row)).toBe(false);
  },
  async "discards dead and quarantined rows, and no others"({ inbox }) {
    const [waiting, dead, odd] = [rowAt("a", 1), rowAt("b", 1), rowAt("c", 1, { quarantine: "odd" })];
    await inbox.insert(dead);
    await inbox.fail(await claimOne(inbox), { kind: "dead", error: "broken" });
    await inbox.insert(odd);
    await inbox.insert(waiting);
    const discarded = [await inbox.discard(dead), await inbox.discard(odd), await inbox.discard(waiting)];
    expect(discarded).toEqual([true, true, false]);
    expect(await settle(inbox, await claimOne(inbox))).toBe("settled");
    expect([await inbox.discard(dead), await inbox.discard(waiting)]).toEqual([false, false]);
    expect(await inbox.get(waiting)).toMatchObject({ state: "done" });
  },
  async "keeps the error of a failure that was not counted, of rows that end alone or together"({
    inbox,
    clock,
  }) {
    for (const task of ["alone", "a", "b"]) await inbox.insert(rowAt(task, 1, { id: task }));
    const failure = { kind: "retry", delayMs: 1_000, error: "away", counts: false } as const;
    for (const claim of (await inbox.claim(claimOptions())).claims) await inbox.fail(claim, failure);
    await clock.advance(1_000);
    const [alone, ...together] = (await inbox.claim(claimOptions())).claims.toSorted((one) =>
      one.id === "alone" ? -1 : 1,
    );
    await settle(inbox, alone!);
    expect(await beginRows(inbox, ...together).commit()).toBe("settled");
    for (const id of ["alone", "a", "b"])
      expect(await inbox.get({ source, id })).toMatchObject({
        state: "done",
        attempts: 1,
        lastError: "away",
      });
  },
  async "keeps the last error of a replayed row until another one follows"({ inbox, clock }) {
    const row = rowAt("task-1", 1);
    await inbox.insert(row);
    await inbox.fail(await claimOne(inbox), { kind: "dead", error: "broken" });
    await inbox.replay(row, row);
    expect(await inbox.get(row)).toMatchObject({ state: "pending", lastError: "broken" });
    // The process of the first attempt ends.
    await claimOne(inbox, { worker: "lost", leaseMs: 1_000 });
    await clock.advance(1_000);
    expect(await settle(inbox, await claimOne(inbox))).toBe("settled");
    expect(await inbox.get(row)).toMatchObject({ state: "done", attempts: 2, lastError: "broken" });
    // The attempts of a replayed row are counted again.
    await inbox.replay(row, row);
    const last = await claimOne(inbox);
    expect(await settle(inbox, last, doneWith(last, { allowSame: true }))).toBe("settled");
    expect(await inbox.get(row)).toMatchObject({ state: "done", attempts: 1 });
  },
  async "lets one of concurrent replays succeed"({ inbox, reopen }) {
    const row = rowAt("task-1", 1);
    const other = await reopen();
    await inbox.insert(row);
    await inbox.fail(await claimOne(inbox), { kind: "dead", error: "broken" });
    const replays = Array.from({ length: 6 }, (_, n) => (n % 2 ? inbox : other).replay(row, row));
    expect((await Promise.all(replays)).filter(Boolean).length).toBe(1);
    expect(await claimIds(inbox, { rowsPerKeyMax: 5 })).toEqual([row.id]);
  },
  async "finds rows by each part of a filter, and by several at once"({ inbox, clock }) {
    const begunMs = (await inbox.readMarks(source)).nowMs;
    const failed = rowAt("task-1", 1, {
      id: "msg_failed",
      event: "task.failed",
      body: Buffer.from('{"a":"client-1"}'),
    });
    await inbox.insert(failed);
    await inbox.insert(rowAt("task-10", 1, { id: "msg_10", event: "task.completed", source: "other" }));
    await clock.advance(120_000);
    await inbox.insert(rowAt("task-2", 1, { id: "msg_retried", event: "subtask_failed" }));
    const claims = (await inbox.claim(claimOptions({ rowsMax: 5 }))).claims;
    const claimOf = (id: string) => claims.find((claim) => claim.id === id)!;
    await inbox.fail(claimOf("msg_failed"), { kind: "dead", error: "first line\nof 100 % [it]" });
    await inbox.fail(claimOf("msg_retried"), { kind: "retry", delayMs: 1, error: "later", counts: true });
    await clock.advance(120_000);
    await inbox.insert(rowAt("task-3", 1, { id: "msg_odd", quarantine: "not JSON" }));
    const ids = async (search: InboxRowFilter) => (await inbox.list(search)).map(({ id }) => id);
    expect(await ids({})).toEqual(["msg_odd", "msg_retried", "msg_10", "msg_failed"]);
    expect(await ids({ events: ["task.*"] })).not.toContain("msg_retried");
    expect(await ids({ events: ["task.failed", "*_failed"] })).toEqual(["msg_retried", "msg_failed"]);
    expect(await ids({ events: ["task_failed"] })).toEqual([]);
    expect(await ids({ events: ["TASK.FAILED"] })).toEqual([]);
    expect(await ids({ keyText: '"task-1"' })).toEqual(["msg_failed"]);
    expect(await ids({ errorText: "line of 100 % [" })).toEqual(["msg_failed"]);
    expect(await ids({ errorText: "later", states: ["pending"] })).toEqual(["msg_retried"]);
    expect(await ids({ errorText: "later", states: ["dead", "quarantined"] })).toEqual([]);
    expect(await ids({ bodyText: "client-1" })).toEqual(["msg_failed"]);
    expect(await ids({ idEnd: "odd" })).toEqual(["msg_odd"]);
    expect(await ids({ source: "other" })).toEqual(["msg_10"]);
    // It was received before that time and died after it.
    const afterMs = begunMs + 60_000;
    expect(await ids({ sinceMs: afterMs })).toEqual(["msg_odd", "msg_retried", "msg_failed"]);
    expect(await ids({ sinceMs: afterMs, states: ["dead"] })).toEqual(["msg_failed"]);
    expect(await ids({ untilMs: afterMs })).toEqual(["msg_10"]);
    expect(await ids({ sinceMs: begunMs + 180_000 })).toEqual(["msg_odd"]);
    expect(await ids({ states: ["dead", "quarantined", "pending"], limit: 2 })).toEqual([
      "msg_odd",
      "msg_retried",
    ]);
    expect(await inbox.get(failed)).toMatchObject({ diedAtMs: begunMs + 120_000 });
    await inbox.replay(failed, failed);
    expect(await inbox.get(failed)).toMatchObject({ diedAtMs: null });
  },
  async "finds every row once in steps of any size, whatever the states"({ inbox }) {
    const rows = Array.from({ length: 25 }, (_, n) => {
      const quarantine = n % 3 === 0 ? "odd" : null;
      return rowAt(`task-${n}`, 1, { id: `msg_${n}`, quarantine });
    });
    for (const row of rows) await inbox.insert(row);
    for (const states of [undefined, ["quarantined"], ["pending"], ["pending", "quarantined"]] as const) {
      const expected = rows.filter(
        ({ quarantine }) =>
          !states || (states as readonly string[]).includes(quarantine ? "quarantined" : "pending"),
      );
      for (const stepRows of [1, 2, 7, 100]) {
        const found: string[] = [];
        for await (const step of inbox.search({ states, stepRows })) {
          expect(step.rows.length).toBeLessThanOrEqual(stepRows);
          found.push(...step.rows.map(({ id }) => id));
        }
        expect(found).toEqual(expected.map(({ id }) => id).toReversed());
        const continued: string[] = [];
        for (let beforeSeq: number | undefined = Number.MAX_SAFE_INTEGER; beforeSeq !== undefined; ) {
          const search = inbox.search({ states, stepRows, beforeSeq });
          beforeSeq = undefined;
          for await (const step of search) {
            continued.push(...step.rows.map(({ id }) => id));
            beforeSeq = step.beforeSeq;
            break;
          }
        }
        expect(continued).toEqual(found);
      }
    }
  },
};

export const inlineChecks: Checks = {
  async "lets one caller begin, reports busy to others, and done after the end"(fixture) {
    const { inbox, clock } = fixture;
    expect(await begin(fixture)).toEqual({ state: "begun", generation: 1 });
    await clock.advance(400);
    expect(await begin(fixture)).toEqual({ state: "busy", retryAfterMs: 600 });
    expect(await claimIds(inbox)).toEqual([]);
    const done = { source, generation: 1, outcome: "done" } as const;
    expect(await inbox.finishInline(webhook.id, done)).toBe(true);
    expect(await begin(fixture)).toEqual({ state: "done" });
    expect(await inbox.get({ source, id: webhook.id })).toMatchObject({ state: "done", attempts: 1 });
  },
  async "lets one of concurrent callers begin"({ inbox, reopen }) {
    const other = await reopen();
    const options = { source, leaseMs: 1_000 };
    const begun = await Promise.all(
      Array.from({ length: 10 }, (_, n) => (n % 2 ? inbox : other).beginInline(webhook, options)),
    );
    expect(begun.filter(({ state }) => state === "begun").length).toBe(1);
  },
  async "begins again after a failure or a lost lease, and fences the earlier caller off"(fixture) {
    const { inbox, clock } = fixture;
    await begin(fixture);
    const failed = { source, generation: 1, outcome: "failed" } as const;
    expect(await inbox.finishInline(webhook.id, failed)).toBe(true);
    expect(await begin(fixture)).toEqual({ state: "begun", generation: 2 });
    await clock.advance(1_000);
    expect(await claimIds(inbox)).toEqual([]);
    expect(await begin(fixture)).toEqual({ state: "begun", generation: 3 });
    const late = { source, generation: 2, outcome: "done" } as const;
    expect(await inbox.finishInline(webhook.id, late)).toBe(false);
    expect(await begin(fixture)).toEqual({ state: "busy", retryAfterMs: 1_000 });
  },
  async "reports ids as done that were stored in another way"(fixture) {
    await fixture.inbox.insert(rowAt("task-1", 1, { id: webhook.id }));
    expect(await begin(fixture)).toEqual({ state: "done" });
  },
  async "starts the lease again at the first contact after the clock was set back"(fixture) {
    const { clock } = fixture;
    expect(await begin(fixture)).toMatchObject({ state: "begun" });
    clock.setNow(clock.now() - 7_200_000);
    expect(await begin(fixture)).toEqual({ state: "busy", retryAfterMs: 1_000 });
    await clock.advance(1_000);
    expect(await begin(fixture)).toEqual({ state: "begun", generation: 2 });
  },
};
