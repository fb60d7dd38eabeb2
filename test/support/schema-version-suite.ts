// The promises of an inbox whose schema another release migrates, as tests.

import { describe, expect, it } from "vitest";
import type { InboxStore } from "../../receiver-kit/inbox/inbox.ts";
import { claimOne, claimOptions, doneWith, runningAt, settle } from "./inbox-rows.ts";

/** A database that `open` has not seen yet. */
export interface VersionedDatabase extends AsyncDisposable {
  /** Of a table of the inbox. */
  table(name: "inbox_version" | "deliveries" | "ordering_keys" | "queue" | "marks"): string;
  execute(statement: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  open(): Promise<InboxStore>;
}

const source = "default";
const tooNew = {
  code: "RELEASE_TOO_OLD",
  message: expect.stringMatching(
    /version 3, which needs release 7\.1\.0 or newer; this one knows version 1, expected at least 2: run release 7\.1\.0/,
  ),
};

export function describeSchemaVersions(name: string, create: () => Promise<VersionedDatabase>): void {
  const migrate = (database: VersionedDatabase, version: number, oldestUsable: number) =>
    database.execute(
      `UPDATE ${database.table("inbox_version")}
       SET version = ${version}, oldest_usable = ${oldestUsable}, oldest_release = '7.1.0'`,
    );
  const columns = {
    orderKey: "task-1",
    position: "a",
    event: "task.running",
    status: null,
    workspaceId: null,
  };
  const inline = {
    webhook: { id: "inline", timestamp: 5, body: Buffer.from("body"), secretIndex: 0 },
    options: { source, leaseMs: 1_000 },
  };

  describe(`${name}: the version of the schema`, () => {
    it("is recorded with the oldest release that may use it", async () => {
      await using database = await create();
      const inbox = await database.open();
      expect(await database.execute(`SELECT * FROM ${database.table("inbox_version")}`)).toEqual([
        { version: 1, oldest_usable: 1, oldest_release: "0.1.0" },
      ]);
      await inbox.close();
    });

    it("may be newer: an inbox stores, claims and settles beside columns and tables that it does not know", async () => {
      await using database = await create();
      const before = await database.open();
      for (const table of ["deliveries", "ordering_keys", "queue"] as const)
        await database.execute(`ALTER TABLE ${database.table(table)} ADD COLUMN added text DEFAULT 'kept'`);
      await migrate(database, 2, 1);
      const after = await database.open();
      for (const [index, inbox] of [before, after].entries()) {
        const id = `row-${index}`;
        await inbox.insert(runningAt(`task-${index}`, 1, { id }));
        const claim = await claimOne(inbox);
        expect(claim.id).toBe(id);
        expect(await settle(inbox, claim)).toBe("settled");
      }
      expect(await database.execute(`SELECT added FROM ${database.table("deliveries")}`)).toEqual([
        { added: "kept" },
        { added: "kept" },
      ]);
      expect(await database.execute(`SELECT version FROM ${database.table("inbox_version")}`)).toEqual([
        { version: 2 },
      ]);
      await before.close();
      await after.close();
    });

    it("does not let a release that is too old open it", async () => {
      await using database = await create();
      const inbox = await database.open();
      await inbox.close();
      await migrate(database, 3, 2);
      await expect(database.open()).rejects.toMatchObject(tooNew);
    });

    it("does not let a process that runs write anything more when its release is too old", async () => {
      await using database = await create();
      const inbox = await database.open();
      await inbox.insert(runningAt("task-1", 1, { id: "claimed" }));
      await inbox.insert(runningAt("task-2", 1, { id: "waiting" }));
      await inbox.insert(runningAt("task-3", 1, { id: "dead" }));
      const dead = await claimOne(inbox);
      await inbox.fail(dead, { kind: "dead", error: "failed" });
      const claim = await claimOne(inbox);
      const begun = await inbox.beginInline(inline.webhook, inline.options);
      expect(begun.state).toBe("begun");
      const dump = async () => {
        const tables = ["deliveries", "ordering_keys", "queue", "marks"] as const;
        return Promise.all(tables.map((table) => database.execute(`SELECT * FROM ${database.table(table)}`)));
      };
      const before = await dump();
      await migrate(database, 3, 2);

      const deadRow = { source, id: dead.id };
      const head = { source, key: "task-1", position: "b" };
      const ages = { bodiesMs: 1, rowsMs: 1, headsMs: 1, unhandledBodiesMs: 1, asOfMs: 1e15 };
      const writes: Readonly<Record<string, () => Promise<unknown>>> = {
        insert: () => inbox.insert(runningAt("task-4", 1, { id: "new" })),
        claim: () => inbox.claim(claimOptions()),
        renew: () => inbox.renew([claim.lease], 60_000),
        commit: () => inbox.begin([{ claim, settlement: doneWith(claim) }], { timeoutMs: 1_000 }).commit(),
        fail: () => inbox.fail(claim, { kind: "release" }),
        replay: () => inbox.replay(deadRow, columns),
        discard: () => inbox.discard(deadRow),
        beginInline: () => inbox.beginInline({ ...inline.webhook, id: "other" }, inline.options),
        finishInline: () => inbox.finishInline("inline", { source, generation: 1, outcome: "done" }),
        advanceHead: () => inbox.advanceHead(head),
        writeMarks: () => inbox.writeMarks(source, { mark: "1" }),
        keepMark: () => inbox.keepMark(source, "mark", "1"),
        purge: () => inbox.purge(ages, 100),
      };
      for (const [method, write] of Object.entries(writes))
        await expect(write(), method).rejects.toMatchObject(tooNew);
      expect(await dump()).toEqual(before);
      await inbox.close();
    });
  });
}
