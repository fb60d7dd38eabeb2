import { expect } from "vitest";
import { bodyBytes, claimIds, claimOptions, rowAt, source } from "./contract-rows.ts";
import type { Checks } from "./inbox-fixture.ts";

const isNew = { outcome: "new" };

export const storingChecks: Checks = {
  async "keeps a delivery, with every column, for a process that opens the inbox later"({
    inbox,
    clock,
    reopen,
  }) {
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const row = rowAt("task-1", 1, { secretIndex: 3, traceparent });
    expect(await inbox.insert(row)).toEqual(isNew);
    const stored = await (await reopen()).get(row);
    const { quarantine, body, ...columns } = row;
    expect(bodyBytes(stored?.body)).toEqual(body);
    expect(stored).toMatchObject({ ...columns, state: "pending", attempts: 0, replays: 0, lastError: null });
    expect(stored?.receivedAtMs).toEqual(clock.now());
  },
  async "stores any bytes unchanged, and copies them"({ inbox }) {
    const bytes = [0, 255, 254, 0, 0xc3, 0x28, 34, 39, 92];
    const body = Uint8Array.from(bytes);
    const row = rowAt("task-1", 1, { body });
    await inbox.insert(row);
    body.fill(1);
    expect(bodyBytes((await inbox.get(row))?.body)).toEqual(Uint8Array.from(bytes));
    await inbox.insert(rowAt("task-2", 1, { id: "empty", body: new Uint8Array() }));
    expect(bodyBytes((await inbox.get({ source, id: "empty" }))?.body)).toEqual(new Uint8Array());
  },
  async "stores the body of each of many concurrent deliveries, and compares each duplicate with its own"({
    inbox,
  }) {
    const rows = Array.from({ length: 60 }, (_, index) => {
      const body = new Uint8Array((index * 37) % 501).fill(index);
      return rowAt(`task-${index}`, 1, { id: `msg_${index}`, body });
    });
    const isOdd = (index: number) => index % 2 === 1;
    await Promise.all(rows.map((row) => inbox.insert(row)));
    for (const row of rows) expect(bodyBytes((await inbox.get(row))?.body)).toEqual(row.body);
    const repeated = await Promise.all(
      rows.map((row, index) => inbox.insert(isOdd(index) ? { ...row, body: Buffer.from("other") } : row)),
    );
    const expected = rows.map((_, index) => ({ outcome: "duplicate", sameBody: !isOdd(index) }));
    expect(repeated).toEqual(expected);
    expect(bodyBytes((await inbox.get(rows[1] ?? { source, id: "" }))?.body)).toEqual(rows[1]?.body);
  },
  async "stores an id once for concurrent copies through several processes"({ inbox, reopen }) {
    const other = await reopen();
    const copies = Array.from({ length: 50 }, (_, index) =>
      (index % 2 ? inbox : other).insert(rowAt("task-1", 1)),
    );
    const outcomes = (await Promise.all(copies)).map(({ outcome }) => outcome);
    expect(outcomes.filter((outcome) => outcome === "new").length).toBe(1);
    expect((await inbox.list({})).length).toBe(1);
    expect(await claimIds(inbox, { rowsPerKeyMax: 5 })).toEqual([rowAt("task-1", 1).id]);
  },
  async "distinguishes ids by source, by case and by every character"({ inbox }) {
    const ids = ["msg_a", "msg_A", "msg.a", "msg_a.", "msg a", "x".repeat(255)];
    for (const each of [source, "other"]) {
      for (const id of ids)
        expect(await inbox.insert(rowAt("task-1", 1, { id, source: each }))).toEqual(isNew);
    }
    expect((await inbox.list({ source: "other" })).length).toEqual(ids.length);
  },
  async "stores a quarantined delivery, which no worker claims"({ inbox }) {
    await inbox.insert(rowAt("task-1", 1, { id: "odd", quarantine: "body is not JSON" }));
    expect(await claimIds(inbox)).toEqual([]);
    expect(await inbox.backlog(source, 10)).toBe(0);
    const rows = await inbox.list({ states: ["quarantined"] });
    expect(rows).toMatchObject([{ id: "odd", state: "quarantined", lastError: "body is not JSON" }]);
  },
  async "lists rows newest first, in pages without repetition, by state and by source"({ inbox }) {
    for (let n = 0; n < 7; n++) await inbox.insert(rowAt("task-1", n, { id: `msg_${n}` }));
    await inbox.insert(rowAt("task-1", 1, { source: "other" }));
    const first = await inbox.list({ source, limit: 4 });
    const beforeSeq = first.at(-1)?.seq;
    const rest = await inbox.list({ source, limit: 4, beforeSeq });
    const expected = [6, 5, 4, 3, 2, 1, 0].map((n) => `msg_${n}`);
    expect([...first, ...rest].map(({ id }) => id)).toEqual(expected);
    expect(await inbox.list({ states: ["dead"] })).toEqual([]);
    expect(await inbox.get({ source, id: "absent" })).toBeUndefined();
  },
  async "counts pending and running rows of a source up to a limit"({ inbox }) {
    for (let n = 0; n < 4; n++) await inbox.insert(rowAt(`task-${n}`, 1));
    await inbox.claim(claimOptions({ rowsMax: 1 }));
    expect(await inbox.backlog(source, 100)).toBe(4);
    expect(await inbox.backlog(source, 3)).toBe(3);
    expect(await inbox.backlog("other", 100)).toBe(0);
  },
  async "counts rows that wait or need attention up to 1,000, and returns the longest wait"({
    inbox,
    clock,
  }) {
    expect((await inbox.stats()).oldestPendingMs).toBe(null);
    await inbox.insert(rowAt("task-1", 1));
    await inbox.insert(rowAt("task-2", 1));
    await inbox.insert(rowAt("task-3", 1, { quarantine: "odd" }));
    const [claim] = (await inbox.claim(claimOptions({ rowsMax: 1 }))).claims;
    await clock.advance(1_500);
    const { rows, oldestPendingMs, storedAheadMs } = await inbox.stats();
    expect(rows).toEqual({ waiting: 2, dead: 0, quarantined: 1 });
    expect({ oldestPendingMs, storedAheadMs }).toEqual({ oldestPendingMs: 1_500, storedAheadMs: 0 });
    expect(claim !== undefined, "a row is claimed").toBe(true);
    const odd = (n: number) => rowAt(`odd-${n}`, 1, { quarantine: "odd" });
    await Promise.all(Array.from({ length: 1_005 }, (_, n) => inbox.insert(odd(n))));
    await Promise.all(Array.from({ length: 1_005 }, (_, n) => inbox.insert(rowAt(`many-${n}`, 1))));
    expect((await inbox.stats()).rows).toEqual({ waiting: 1_000, dead: 0, quarantined: 1_000 });
  },
};
