// The promises of the migration from the schema that was current before leases belonged to ordering keys, as tests.

import { describe, expect, it } from "vitest";
import type { VirtualClock } from "workspace-tasks/mock-server";
import type { Inbox } from "workspace-tasks/receiver-kit";
import { rowStates } from "../../receiver-kit/inbox/inbox.ts";
import { claimOptions, settle } from "./inbox-rows.ts";

/** A database with the schema of version 4, which `open` migrates. */
export interface Version4 extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly tables: { readonly inbox: string; readonly bodies: string; readonly heads: string };
  /** Text as a literal of bytes. */
  literal(text: string): string;
  execute(statement: string): Promise<unknown>;
  open(): Promise<Inbox>;
}

interface OldRow {
  readonly id: string;
  readonly state: string;
  readonly key?: string | undefined;
  readonly position?: string | undefined;
  readonly dueAtMs?: number;
  readonly attempts?: number;
  readonly replays?: number;
  readonly source?: string;
  readonly hasBody?: boolean;
}

const source = "default";
const leaseUntilMs = 20_000;
const nowMs = 10_000;

export function describeInboxMigration(name: string, create: () => Promise<Version4>): void {
  const migrated = async (rows: readonly OldRow[]) => {
    const database = await create();
    for (const [index, row] of rows.entries()) {
      for (const statement of insertion(database, row, index + 1)) await database.execute(statement);
    }
    await database.execute(
      `INSERT INTO ${database.tables.heads} VALUES ('${source}', 'key', 'a', 'RUNNING', 4, 'workspace-1')`,
    );
    database.clock.setNow(nowMs);
    return { ...database, inbox: await database.open() };
  };
  const claimIds = async (inbox: Inbox) => {
    const { claims } = await inbox.claim(claimOptions());
    const ids: string[] = [];
    for (const claim of claims) {
      ids.push(claim.id);
      expect(Buffer.from(claim.body).toString()).toBe(`body ${claim.id}`);
      expect(await settle(inbox, claim)).toBe("settled");
    }
    return ids;
  };

  describe(`${name}: the migration from version 4`, () => {
    it("keeps a row of every state with its columns, and with its body unless that was purged", async () => {
      const kept = rowStates.map((state) => ({ id: state, state, key: `key ${state}` }));
      const { inbox, ...database } = await migrated([...kept, { id: "old", state: "done", hasBody: false }]);
      const [old, ...rows] = await inbox.list({});
      expect(old).toMatchObject({ id: "old", state: "done", bodyBytes: null });
      expect(rows.map(({ state }) => state)).toEqual(rowStates.toReversed());
      for (const { seq, id, state } of rows) {
        const row = await inbox.get({ source, id });
        expect(Buffer.from(row?.body ?? []).toString()).toBe(`body ${state}`);
        expect(row).toMatchObject({
          ...{ seq, channel: "webhook", event: "task.running", orderKey: `key ${state}`, position: "p" },
          ...{ status: "RUNNING", workspaceId: "workspace-1", timestamp: 5, receivedAtMs: 6, attempts: 2 },
          ...{ replays: 0, lastError: "error", secretIndex: 1, traceparent: "trace" },
          bodyBytes: `body ${state}`.length,
        });
      }
      expect(await inbox.stats()).toMatchObject({
        rows: { ...Object.fromEntries(rowStates.map((state) => [state, 1])), done: 2 },
      });
      expect(await inbox.head(source, "key")).toEqual({
        position: "a",
        status: "RUNNING",
        unchangedMs: 9_996,
      });
      await inbox.close();
      await database[Symbol.asyncDispose]();
    });

    it("keeps ids, so that a delivery that is sent again is a duplicate", async () => {
      const { inbox, ...database } = await migrated(rowStates.map((state) => ({ id: state, state })));
      for (const state of rowStates) {
        const body = Buffer.from(`body ${state}`);
        const columns = { event: null, orderKey: null, position: null, status: null, workspaceId: null };
        const delivery = { channel: "webhook", timestamp: 5, quarantine: null, secretIndex: null } as const;
        const row = { ...columns, ...delivery, source, id: state, body, traceparent: null };
        expect(await inbox.insert(row)).toEqual({ outcome: "duplicate", sameBody: true });
      }
      await inbox.close();
      await database[Symbol.asyncDispose]();
    });

    it("keeps the order of each key: after the running row's lease it is claimed again, before the others", async () => {
      const { inbox, clock, ...database } = await migrated([
        { id: "third", state: "pending", key: "key", position: "d" },
        { id: "first", state: "running", key: "key", position: "b" },
        { id: "second", state: "pending", key: "key", position: "c", attempts: 0 },
        { id: "later", state: "pending", key: "other", position: "b", dueAtMs: 11_000, attempts: 1 },
        { id: "newer", state: "pending", key: "other", position: "c" },
        { id: "alone", state: "pending" },
        { id: "dead", state: "dead", key: "other", position: "a" },
        { id: "foreign", state: "pending", key: "key", source: "foreign" },
      ]);
      expect((await claimIds(inbox)).toSorted()).toEqual(["alone", "newer"]);
      expect(await claimIds(inbox)).toEqual([]);
      clock.setNow(11_000);
      const [later] = (await inbox.claim(claimOptions())).claims;
      expect(later).toMatchObject({ id: "later", attempts: 2, head: "c" });
      expect(await settle(inbox, later!)).toBe("settled-stale");
      clock.setNow(leaseUntilMs);
      const [first] = (await inbox.claim(claimOptions())).claims;
      expect(first).toMatchObject({ id: "first", attempts: 3, head: "a", lease: { generation: 5 } });
      await settle(inbox, first!);
      expect(await claimIds(inbox)).toEqual(["second"]);
      expect(await claimIds(inbox)).toEqual(["third"]);
      expect(await inbox.waitingSources(source)).toEqual([]);
      expect(await inbox.head(source, "key")).toMatchObject({ position: "d" });
      await inbox.close();
      await database[Symbol.asyncDispose]();
    });

    it("lets the worker that claimed a row before neither settle it nor keep its lease", async () => {
      const { inbox, clock, ...database } = await migrated([{ id: "row", state: "running", key: "key" }]);
      clock.setNow(leaseUntilMs);
      const [claim] = (await inbox.claim(claimOptions())).claims;
      const lease = { ...claim!.lease, worker: "old worker", generation: 4 };
      expect(await settle(inbox, { ...claim!, lease })).toBe("lost");
      expect(await inbox.renew([lease], 1_000)).toEqual(new Set());
      await inbox.close();
      await database[Symbol.asyncDispose]();
    });

    it("keeps inline rows and their leases, and retention, replay and discard work on old rows", async () => {
      const { inbox, clock, ...database } = await migrated([
        { id: "inline", state: "inline" },
        { id: "dead", state: "dead", key: "key", position: "b", replays: 1, dueAtMs: 9_000 },
        { id: "odd", state: "quarantined" },
        { id: "done", state: "done" },
      ]);
      const webhook = { id: "inline", timestamp: 5, body: Buffer.from("body inline"), secretIndex: 0 };
      const begin = () => inbox.beginInline(webhook, { source, leaseMs: 1_000 });
      expect(await begin()).toEqual({ state: "busy", retryAfterMs: leaseUntilMs - nowMs });
      expect(await inbox.discard({ source, id: "odd" })).toBe(true);
      const columns = { event: "task.running", status: null, workspaceId: null };
      const replayed = { ...columns, orderKey: "key", position: "b" };
      expect(await inbox.replay({ source, id: "dead" }, replayed)).toBe(true);
      const { claims } = await inbox.claim(claimOptions());
      expect(claims).toMatchObject([{ id: "dead", attempts: 1, replays: 2, head: "a" }]);
      expect(await settle(inbox, claims[0]!)).toBe("settled");
      const retention = { bodiesMs: 5_000, rowsMs: 5_000, headsMs: 90_000, unhandledBodiesMs: 5_000 };
      for (let changed = 1; changed > 0; ) changed = await inbox.purge(retention, 100);
      expect((await inbox.list({})).map(({ id }) => id)).toEqual(["dead"]);
      clock.setNow(leaseUntilMs);
      expect(await begin()).toMatchObject({ state: "begun" });
      await inbox.close();
      await database[Symbol.asyncDispose]();
    });
  });
}

function insertion(database: Version4, row: OldRow, seq: number): readonly string[] {
  const { inbox, bodies } = database.tables;
  const { id, state, key, position = "p", dueAtMs = 7, attempts = 2, replays = 0, hasBody = true } = row;
  const body = `body ${id}`;
  const columns = {
    ...{
      seq,
      source: row.source ?? source,
      webhook_id: id,
      channel: "webhook",
      state,
      event: "task.running",
    },
    ...{ order_key: key ?? null, position: key === undefined ? null : position, status: "RUNNING" },
    ...{ workspace: "workspace-1", signed_at: 5, received_at: 6, due_at: dueAtMs, attempts, replays },
    ...{ lease_until: leaseUntilMs, worker: "old worker", generation: 4, last_error: "error" },
    ...{ body_bytes: hasBody ? body.length : null, secret_index: 1, traceparent: "trace" },
  };
  const values = Object.values(columns).map((value) =>
    typeof value === "string" ? `'${value}'` : String(value ?? "NULL"),
  );
  return [
    `INSERT INTO ${inbox} (${Object.keys(columns).join(", ")}) VALUES (${values.join(", ")})`,
    ...(hasBody ? [`INSERT INTO ${bodies} (seq, body) VALUES (${seq}, ${database.literal(body)})`] : []),
  ];
}
