import { expect } from "vitest";
import { bodyBytes, claimIds, claimOne, rowAt, settle, source } from "./contract-rows.ts";
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
    expect(await inbox.replay(row, row)).toBe(true);
    expect(await inbox.replay({ source, id: "absent" }, row)).toBe(false);
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
