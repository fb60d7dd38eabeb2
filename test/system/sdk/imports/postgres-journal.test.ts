import { type PostgresClientPool, postgresJournal } from "@workspace-tasks/sdk";
import { beforeAll, expect, it } from "vitest";
import { openJournal } from "../../../support/memory-journal.ts";
import { codeOf, failureOf } from "../../../support/outcome-of.ts";
import type { PostgresDatabases } from "../../../support/postgres.ts";
import { sharedPostgres } from "../../../support/shared-server.ts";
import { describeWithPostgres } from "../../../support/with-postgres.ts";

let postgres: PostgresDatabases;

beforeAll(async () => {
  postgres = await sharedPostgres();
});

describeWithPostgres("a journal in PostgreSQL", () => {
  it("yields what was appended, by name, and continues after it", async () => {
    await using database = await postgres.database();
    const pool = database.pool();
    const groups = [["a", "b"], ["é"], Array.from({ length: 2_500 }, (_, index) => `["entry",${index}]`)];
    const journal = await openJournal(postgresJournal(pool, "one"));
    expect(journal.entries).toEqual([]);
    for (const group of groups) await journal.append(group);
    await journal.close();
    const again = await openJournal(postgresJournal(pool, "one"));
    expect(again.entries).toEqual(groups.flat());
    const other = await openJournal(postgresJournal(pool, "two"));
    expect(other.entries).toEqual([]);
    await Promise.all([again.close(), other.close()]);
    expect(pool.totalCount).toBe(pool.idleCount);
  });

  it("is created once by journals that start together, and each has its own", async () => {
    await using database = await postgres.database();
    const opened = Array.from({ length: 8 }, (_, index) =>
      openJournal(postgresJournal(database.pool({ max: 1 }), `${index}`)),
    );
    for (const journal of await Promise.all(opened)) {
      expect(journal.entries).toEqual([]);
      await journal.close();
    }
  });

  it("is of one process at a time, says of which, and is free when its connection is lost", async () => {
    await using database = await postgres.database();
    const holder = await openJournal(
      postgresJournal(database.pool({ application_name: "importer-1" }), "import"),
    );
    await holder.append(["a"]);
    const second = postgresJournal(database.pool(), "import");
    const error = await failureOf(openJournal(second));
    expect(error).toMatchObject({ code: "JOURNAL_IN_USE", message: expect.stringContaining("importer-1") });
    await database
      .pool()
      .query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'importer-1'");
    await expect(holder.append(["b"])).rejects.toThrow();
    // The server ends the lost connection, and with it the lock, in its own time.
    const append = async () => {
      const journal = await openJournal(second);
      await journal.append(["c"]).finally(() => journal.close());
    };
    await expect.poll(() => codeOf(append())).toBe("no error");
    await holder.close();
    const journal = await openJournal(second);
    expect(journal.entries).toEqual(["a", "c"]);
    await journal.close();
  });

  it("leaves no listener on a connection that it gives back", async () => {
    await using database = await postgres.database();
    const pool = database.pool({ max: 1 });
    const listeners = async () => {
      const client = await pool.connect();
      const count = client.listenerCount("error");
      client.release();
      return count;
    };
    const before = await listeners();
    const journal = await openJournal(postgresJournal(pool, "import"));
    await journal.close();
    expect(await listeners()).toBe(before);
  });

  it("is damaged when a line is missing in the middle", async () => {
    await using database = await postgres.database();
    const pool = database.pool();
    const journal = await openJournal(postgresJournal(pool, "import"));
    await journal.append(["a", "b", "c"]);
    await journal.close();
    await pool.query("delete from workspace_tasks.import_journal where line = 2");
    expect(await failureOf(openJournal(postgresJournal(pool, "import")))).toMatchObject({
      code: "JOURNAL_DAMAGED",
      message: expect.stringContaining("expected line 2, got line 3"),
    });
  });

  it.each([
    [{}, "import", "pool"],
    [{ connect: async () => ({}) }, "  ", "name"],
  ])("%j and the name %j are rejected at once", (pool, name, argument) => {
    const create = () => postgresJournal(pool as PostgresClientPool, name);
    expect(create).toThrow(expect.objectContaining({ code: "CONFIGURATION_INVALID" }));
    expect(create).toThrow(`postgresJournal: ${argument}`);
  });
});
