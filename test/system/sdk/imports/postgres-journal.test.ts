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
    const journal = postgresJournal(pool, "one");
    expect(await openJournal(journal)).toEqual([]);
    for (const group of groups) await journal.append(group);
    await journal.close();
    expect(await openJournal(journal)).toEqual(groups.flat());
    const other = postgresJournal(pool, "two");
    expect(await openJournal(other)).toEqual([]);
    await Promise.all([journal.close(), other.close()]);
    expect(pool.totalCount).toBe(pool.idleCount);
  });

  it("is created once by journals that start together, and each has its own", async () => {
    await using database = await postgres.database();
    const journals = Array.from({ length: 8 }, (_, index) =>
      postgresJournal(database.pool({ max: 1 }), `${index}`),
    );
    expect(await Promise.all(journals.map(openJournal))).toEqual(journals.map(() => []));
    await Promise.all(journals.map((journal) => journal.close()));
  });

  it("is of one process at a time, says of which, and is free when its connection is lost", async () => {
    await using database = await postgres.database();
    const holder = postgresJournal(database.pool({ application_name: "importer-1" }), "import");
    await openJournal(holder);
    await holder.append(["a"]);
    const second = postgresJournal(database.pool(), "import");
    const error = await failureOf(openJournal(second));
    expect(error).toMatchObject({ code: "JOURNAL_IN_USE", message: expect.stringContaining("importer-1") });
    await second.close();
    await database
      .pool()
      .query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'importer-1'");
    await expect(holder.append(["b"])).rejects.toThrow();
    // The server ends the lost connection, and with it the lock, in its own time.
    const open = () => openJournal(second).catch((error) => second.close().then(() => Promise.reject(error)));
    await expect.poll(() => codeOf(open())).toBe("no error");
    await holder.close();
    await second.append(["c"]);
    await second.close();
    expect(await openJournal(second)).toEqual(["a", "c"]);
    await second.close();
  });

  it("is damaged when a line is missing in the middle", async () => {
    await using database = await postgres.database();
    const journal = postgresJournal(database.pool(), "import");
    await openJournal(journal);
    await journal.append(["a", "b", "c"]);
    await journal.close();
    await database.pool().query("delete from workspace_tasks.import_journal where line = 2");
    const error = await failureOf(openJournal(journal));
    expect(error).toMatchObject({
      code: "JOURNAL_DAMAGED",
      message: expect.stringContaining("expected line 2, got line 3"),
    });
    await journal.close();
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
