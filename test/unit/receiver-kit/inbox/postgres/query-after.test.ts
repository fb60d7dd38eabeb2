import type pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import type { PostgresClient } from "../../../../../receiver-kit/inbox/postgres/postgres-pool.ts";
import { queryAfter } from "../../../../../receiver-kit/inbox/postgres/query-after.ts";
import type { PostgresDatabase } from "../../../../support/postgres.ts";
import { sharedPostgres } from "../../../../support/shared-server.ts";
import { describeWithPostgres } from "../../../../support/with-postgres.ts";

let database: PostgresDatabase;
let pool: pg.Pool;
let client: pg.PoolClient;
beforeAll(async () => {
  database = await (await sharedPostgres()).database();
  pool = database.pool();
  client = await pool.connect();
  await client.query("CREATE TABLE numbers (value integer NOT NULL)");
});
afterAll(async () => {
  client.release();
  await database[Symbol.asyncDispose]();
});
beforeEach(() => client.query("ROLLBACK; TRUNCATE numbers"));

const next = ["RELEASE SAVEPOINT s", "SAVEPOINT s"];
const insert = "INSERT INTO numbers VALUES ($1) RETURNING value";
const stored = async () => (await client.query("SELECT value FROM numbers ORDER BY value")).rows;

describeWithPostgres("statements that are sent before a statement", () => {
  it.each([
    ["a client of pg", () => client],
    ["a client of another kind", () => ({ query: client.query.bind(client) })],
  ])("are executed in their order with %s, and the result is that of the last one", async (_, toClient) => {
    const used = toClient() as unknown as PostgresClient;
    await client.query("BEGIN; SAVEPOINT s");
    expect((await queryAfter(used, next, insert, [1])).rows).toEqual([{ value: 1 }]);
    expect((await queryAfter(used, next, insert, [2])).rows).toEqual([{ value: 2 }]);
    await expect(queryAfter(used, next, insert, [null])).rejects.toMatchObject({ code: "23502" });
    expect((await queryAfter(used, ["ROLLBACK TO SAVEPOINT s"], insert, [3])).rows).toEqual([{ value: 3 }]);
    await client.query("COMMIT");
    expect(await stored()).toEqual([{ value: 1 }, { value: 2 }, { value: 3 }]);
  });

  it("end with their first error: nothing that follows it is executed", async () => {
    const used = client as unknown as PostgresClient;
    await client.query("BEGIN");
    await expect(queryAfter(used, next, insert, [1])).rejects.toMatchObject({ code: "3B001" });
    await client.query("ROLLBACK");
    expect(await stored()).toEqual([]);
    expect((await queryAfter(used, [], "SELECT 5 AS five")).rows).toEqual([{ five: 5 }]);
  });

  it("leave the client usable when a value cannot be sent", async () => {
    const used = client as unknown as PostgresClient;
    const circular: unknown[] = [];
    circular.push({ circular });
    await client.query("BEGIN; SAVEPOINT s");
    await expect(queryAfter(used, next, insert, [circular[0]])).rejects.toThrow("circular");
    await client.query("ROLLBACK TO SAVEPOINT s");
    expect((await queryAfter(used, next, insert, [1])).rows).toEqual([{ value: 1 }]);
    await client.query("ROLLBACK");
  });
});
