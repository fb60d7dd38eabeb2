import { includes, same } from "./assertions.ts";
import { checkGroup } from "./conformance-check.ts";
import type { InboxFixture } from "./inbox-fixture.ts";
import { claimIds, claimOne, rowAt, settle, source } from "./inbox-rows.ts";

const webhook = { id: "msg_inline", timestamp: 1_772_357_400, body: Buffer.from("{}"), secretIndex: 0 };
const begin = ({ inbox }: InboxFixture) => inbox.beginInline(webhook, { source, leaseMs: 1_000 });

export const operatorChecks = checkGroup<InboxFixture>("replay and discard", {
  async "makes dead and settled rows pending again, and keeps their ids"({ inbox }) {
    const row = rowAt("task-1", 1);
    await inbox.insert(row);
    same(await inbox.replay(row, row), false, "replay of a pending row");
    const claim = await claimOne(inbox);
    same(await inbox.replay(row, row), false, "replay of a running row");
    await inbox.fail(claim, { kind: "dead", error: "broken" });
    same(await inbox.replay(row, row), true, "replay of a dead row");
    same(await inbox.replay(row, row), false, "replay of a replayed row");
    includes(await inbox.insert(row), { outcome: "duplicate" }, "insert");
    const again = await claimOne(inbox);
    includes(again, { attempts: 1, replays: 1 }, "the claim");
    same(again.body, row.body, "its body");
    same(await settle(inbox, again), "settled", "settle");
    same(await inbox.replay(row, row), true, "replay of a settled row");
    same(await inbox.replay({ source, id: "absent" }, row), false, "replay of a row that is absent");
  },
  async "keeps the last error of a replayed row until another one follows"({ inbox, clock }) {
    const row = rowAt("task-1", 1);
    await inbox.insert(row);
    await inbox.fail(await claimOne(inbox), { kind: "dead", error: "broken" });
    await inbox.replay(row, row);
    includes(await inbox.get(row), { state: "pending", lastError: "broken" }, "the replayed row");
    // The process of the first attempt ends.
    await claimOne(inbox, { worker: "lost", leaseMs: 1_000 });
    await clock.advance(1_000);
    same(await settle(inbox, await claimOne(inbox)), "settled", "settle");
    includes(await inbox.get(row), { state: "done", attempts: 2, lastError: "broken" }, "the settled row");
  },
  async "replays a quarantined row with the columns that it then has"({ inbox }) {
    const columns = { orderKey: null, position: null, event: null, status: null };
    const odd = rowAt("task-1", 1, { ...columns, id: "odd", quarantine: "odd" });
    await inbox.insert(odd);
    same(await inbox.replay(odd, rowAt("task-1", 1)), true, "replay");
    includes(await claimOne(inbox), { id: "odd", orderKey: '["task-1"]', status: "RUNNING" }, "the claim");
  },
  async "lets one of concurrent replays succeed"({ inbox, reopen }) {
    const row = rowAt("task-1", 1);
    const other = await reopen();
    await inbox.insert(row);
    await inbox.fail(await claimOne(inbox), { kind: "dead", error: "broken" });
    const replays = Array.from({ length: 6 }, (_, n) => (n % 2 ? inbox : other).replay(row, row));
    same((await Promise.all(replays)).filter(Boolean).length, 1, "replays that succeeded");
    same(await claimIds(inbox, { rowsPerKeyMax: 5 }), [row.id], "claimed rows");
  },
  async "discards dead and quarantined rows, and no others"({ inbox }) {
    const [row, odd] = [rowAt("task-1", 1), rowAt("task-2", 1, { quarantine: "odd" })];
    await inbox.insert(row);
    await inbox.insert(odd);
    same(await inbox.discard(row), false, "a pending row");
    await inbox.fail(await claimOne(inbox), { kind: "dead", error: "broken" });
    same(await inbox.discard(row), true, "a dead row");
    same(await inbox.discard(odd), true, "a quarantined row");
    same(await inbox.discard(row), false, "a discarded row");
    includes(await inbox.get(row), { state: "discarded" }, "the row");
    same(await inbox.replay(row, row), true, "replay of a discarded row");
  },
});

export const inlineChecks = checkGroup<InboxFixture>("rows applied by a request", {
  async "lets one caller begin, reports busy to others, and done after the end"(fixture) {
    const { inbox, clock } = fixture;
    same(await begin(fixture), { state: "begun", generation: 1 }, "the first caller");
    await clock.advance(400);
    same(await begin(fixture), { state: "busy", retryAfterMs: 600 }, "another caller");
    same(await claimIds(inbox), [], "claimed rows");
    const done = { source, generation: 1, outcome: "done" } as const;
    same(await inbox.finishInline(webhook.id, done), true, "finish");
    same(await begin(fixture), { state: "done" }, "a later caller");
    includes(await inbox.get({ source, id: webhook.id }), { state: "done", attempts: 1 }, "the row");
  },
  async "lets one of concurrent callers begin"({ inbox, reopen }) {
    const other = await reopen();
    const options = { source, leaseMs: 1_000 };
    const begun = await Promise.all(
      Array.from({ length: 10 }, (_, n) => (n % 2 ? inbox : other).beginInline(webhook, options)),
    );
    same(begun.filter(({ state }) => state === "begun").length, 1, "callers that began");
  },
  async "begins again after a failure or a lost lease, and fences the earlier caller off"(fixture) {
    const { inbox, clock } = fixture;
    await begin(fixture);
    const failed = { source, generation: 1, outcome: "failed" } as const;
    same(await inbox.finishInline(webhook.id, failed), true, "finish of the first caller");
    same(await begin(fixture), { state: "begun", generation: 2 }, "after the failure");
    await clock.advance(1_000);
    same(await claimIds(inbox), [], "claimed rows");
    same(await begin(fixture), { state: "begun", generation: 3 }, "after the lost lease");
    const late = { source, generation: 2, outcome: "done" } as const;
    same(await inbox.finishInline(webhook.id, late), false, "finish of the caller that lost its lease");
    same(await begin(fixture), { state: "busy", retryAfterMs: 1_000 }, "afterwards");
  },
  async "reports ids as done that were stored in another way"(fixture) {
    await fixture.inbox.insert(rowAt("task-1", 1, { id: webhook.id }));
    same(await begin(fixture), { state: "done" }, "begin");
  },
  async "starts the lease again at the first contact after the clock was set back"(fixture) {
    const { clock } = fixture;
    includes(await begin(fixture), { state: "begun" }, "begin");
    clock.setNow(clock.now() - 7_200_000);
    same(await begin(fixture), { state: "busy", retryAfterMs: 1_000 }, "after the clock was set back");
    await clock.advance(1_000);
    same(await begin(fixture), { state: "begun", generation: 2 }, "one lease later");
  },
});
