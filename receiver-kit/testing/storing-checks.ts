import { holds, includes, same } from "./assertions.ts";
import { checkGroup } from "./conformance-check.ts";
import type { InboxFixture } from "./inbox-fixture.ts";
import { claimIds, claimOptions, rowAt, source } from "./inbox-rows.ts";

const isNew = { outcome: "new" };

export const storingChecks = checkGroup<InboxFixture>("storing", {
  async "keeps a delivery, with every column, for a process that opens the inbox later"({
    inbox,
    clock,
    reopen,
  }) {
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const row = rowAt("task-1", 1, { secretIndex: 3, traceparent });
    same(await inbox.insert(row), isNew, "insert");
    const stored = await (await reopen()).get(row);
    const { quarantine, ...columns } = row;
    includes(stored, { ...columns, state: "pending", attempts: 0, replays: 0, lastError: null }, "the row");
    same(stored?.receivedAtMs, clock.now(), "time of receipt");
  },
  async "stores any bytes unchanged, and copies them"({ inbox }) {
    const bytes = [0, 255, 254, 0, 0xc3, 0x28, 34, 39, 92];
    const body = Uint8Array.from(bytes);
    const row = rowAt("task-1", 1, { body });
    await inbox.insert(row);
    body.fill(1);
    same((await inbox.get(row))?.body, Uint8Array.from(bytes), "the body");
    await inbox.insert(rowAt("task-2", 1, { id: "empty", body: new Uint8Array() }));
    same((await inbox.get({ source, id: "empty" }))?.body, new Uint8Array(), "an empty body");
  },
  async "stores the body of each of many concurrent deliveries, and compares each duplicate with its own"({
    inbox,
  }) {
    const rows = Array.from({ length: 60 }, (_, index) => {
      const body = Buffer.alloc((index * 37) % 501, index);
      return rowAt(`task-${index}`, 1, { id: `msg_${index}`, body });
    });
    const isOdd = (index: number) => index % 2 === 1;
    await Promise.all(rows.map((row) => inbox.insert(row)));
    for (const row of rows) same((await inbox.get(row))?.body, row.body, `body of ${row.id}`);
    const repeated = await Promise.all(
      rows.map((row, index) => inbox.insert(isOdd(index) ? { ...row, body: Buffer.from("other") } : row)),
    );
    const expected = rows.map((_, index) => ({ outcome: "duplicate", sameBody: !isOdd(index) }));
    same(repeated, expected, "outcomes of the duplicates");
    same((await inbox.get(rows[1] ?? { source, id: "" }))?.body, rows[1]?.body, "the first body is kept");
  },
  async "stores an id once for concurrent copies through several processes"({ inbox, reopen }) {
    const other = await reopen();
    const copies = Array.from({ length: 50 }, (_, index) =>
      (index % 2 ? inbox : other).insert(rowAt("task-1", 1)),
    );
    const outcomes = (await Promise.all(copies)).map(({ outcome }) => outcome);
    same(outcomes.filter((outcome) => outcome === "new").length, 1, "copies that were new");
    same((await inbox.list({})).length, 1, "stored rows");
    same(await claimIds(inbox, { rowsPerKeyMax: 5 }), [rowAt("task-1", 1).id], "claimed rows");
  },
  async "recognises a duplicate in every state of its row"({ inbox }) {
    const row = rowAt("task-1", 1);
    const odd = rowAt("task-2", 1, { quarantine: "odd" });
    const duplicate = { outcome: "duplicate", sameBody: true };
    await inbox.insert(row);
    await inbox.insert(odd);
    same(await inbox.insert(row), duplicate, "of a pending row");
    const { claims } = await inbox.claim(claimOptions());
    same(await inbox.insert(row), duplicate, "of a running row");
    for (const claim of claims) await inbox.fail(claim, { kind: "dead", error: "no" });
    same(await inbox.insert(row), duplicate, "of a dead row");
    same(await inbox.insert(odd), duplicate, "of a quarantined row");
    same(await claimIds(inbox), [], "claimed rows");
  },
  async "distinguishes ids by source, by case and by every character"({ inbox }) {
    const ids = ["msg_a", "msg_A", "msg.a", "msg_a.", "msg a", "x".repeat(255)];
    for (const each of [source, "other"]) {
      for (const id of ids) same(await inbox.insert(rowAt("task-1", 1, { id, source: each })), isNew, id);
    }
    same((await inbox.list({ source: "other" })).length, ids.length, "rows of a source");
  },
  async "stores a quarantined delivery, which no worker claims"({ inbox }) {
    await inbox.insert(rowAt("task-1", 1, { id: "odd", quarantine: "body is not JSON" }));
    same(await claimIds(inbox), [], "claimed rows");
    same(await inbox.backlog(source, 10), 0, "backlog");
    const rows = await inbox.list({ states: ["quarantined"] });
    includes(rows, [{ id: "odd", state: "quarantined", lastError: "body is not JSON" }], "quarantined rows");
  },
  async "lists rows newest first, in pages without repetition, by state and by source"({ inbox }) {
    for (let n = 0; n < 7; n++) await inbox.insert(rowAt("task-1", n, { id: `msg_${n}` }));
    await inbox.insert(rowAt("task-1", 1, { source: "other" }));
    const first = await inbox.list({ source, limit: 4 });
    const beforeSeq = first.at(-1)?.seq;
    const rest = await inbox.list({ source, limit: 4, beforeSeq });
    const expected = [6, 5, 4, 3, 2, 1, 0].map((n) => `msg_${n}`);
    same(
      [...first, ...rest].map(({ id }) => id),
      expected,
      "two pages",
    );
    same(await inbox.list({ states: ["dead"] }), [], "dead rows");
    same(await inbox.get({ source, id: "absent" }), undefined, "a row that is absent");
  },
  async "counts pending and running rows of a source up to a limit"({ inbox }) {
    for (let n = 0; n < 4; n++) await inbox.insert(rowAt(`task-${n}`, 1));
    await inbox.claim(claimOptions({ rowsMax: 1 }));
    same(await inbox.backlog(source, 100), 4, "backlog");
    same(await inbox.backlog(source, 3), 3, "backlog up to 3");
    same(await inbox.backlog("other", 100), 0, "backlog of another source");
  },
  async "counts rows by state and returns the longest wait"({ inbox, clock }) {
    same((await inbox.stats()).oldestPendingMs, null, "longest wait of an empty inbox");
    await inbox.insert(rowAt("task-1", 1));
    await inbox.insert(rowAt("task-2", 1));
    await inbox.insert(rowAt("task-3", 1, { quarantine: "odd" }));
    const [claim] = (await inbox.claim(claimOptions({ rowsMax: 1 }))).claims;
    await clock.advance(1_500);
    const { rows, oldestPendingMs, storedAheadMs } = await inbox.stats();
    includes(rows, { running: 1, pending: 1, quarantined: 1, done: 0, dead: 0, inline: 0 }, "rows by state");
    same({ oldestPendingMs, storedAheadMs }, { oldestPendingMs: 1_500, storedAheadMs: 0 }, "times");
    holds(claim !== undefined, "a row is claimed");
  },
});
