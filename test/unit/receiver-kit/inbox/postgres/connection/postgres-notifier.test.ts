import { describe, expect, it } from "vitest";
import { createNotifier } from "../../../../../../receiver-kit/inbox/postgres/connection/postgres-notifier.ts";
import type { PostgresQueryable } from "../../../../../../receiver-kit/inbox/postgres/sql/postgres-pool.ts";
import { postgresStatements } from "../../../../../../receiver-kit/inbox/postgres/sql/postgres-statements.ts";
import { deferred } from "../../../../../../sdk/kernel/deferred.ts";

/** A pool whose queries end when the test says so. */
function recordingPool() {
  const queries: {
    readonly text: string;
    readonly values: unknown;
    readonly gate: ReturnType<typeof deferred<void>>;
  }[] = [];
  const pool: PostgresQueryable = {
    async query(text, values) {
      const gate = deferred();
      queries.push({ text, values, gate });
      await gate.promise;
      return { rows: [] };
    },
  };
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  return { pool, queries, turn };
}

describe("the PostgreSQL notifier", () => {
  it("notifies at once, and once more for all calls during a notification", async () => {
    const { pool, queries, turn } = recordingPool();
    const notify = createNotifier(pool, "inbox");
    notify("one");
    expect(queries).toMatchObject([
      { text: expect.stringContaining("pg_notify"), values: ["inbox", ["one"]] },
    ]);
    for (let n = 0; n < 10; n++) notify(n % 2 === 0 ? "one" : "two");
    await turn();
    expect(queries).toHaveLength(1);
    queries[0]?.gate.resolve();
    await turn();
    expect(queries).toHaveLength(2);
    expect(queries[1]?.values).toEqual(["inbox", ["one", "two"]]);
    queries[1]?.gate.resolve();
    await turn();
    expect(queries).toHaveLength(2);
    notify("one");
    expect(queries).toHaveLength(3);
  });

  it("is the only one to notify: a statement that notifies keeps a lock of the server until it is on disk", () => {
    const statements = Object.values(postgresStatements("inbox")).flatMap((each) =>
      typeof each === "string" ? [each] : each.map(({ definition }) => definition),
    );
    expect(statements.length).toBeGreaterThan(20);
    expect(statements.filter((statement) => /notify/i.test(statement))).toEqual([]);
  });

  it("notifies again after a notification that failed", async () => {
    const { pool, queries, turn } = recordingPool();
    const notify = createNotifier(pool, "inbox");
    notify("one");
    queries[0]?.gate.reject(new Error("the server is away"));
    await turn();
    notify("one");
    expect(queries).toHaveLength(2);
  });
});
