import { describe, expect, it } from "vitest";
import { isPlainStatement } from "../../../../../../receiver-kit/inbox/postgres/sql/plain-statement.ts";

const plain = [
  "INSERT INTO effects VALUES ($1, $2)",
  "insert into public.effects(name, at) values ($1, now()) on conflict (name) do update set at = excluded.at returning at",
  'INSERT INTO "my ; table" ("a(b") VALUES (\'set_config(1)\')',
  "UPDATE tasks SET state = $2, seen = seen + 1 WHERE id = $1 AND state IN ('a', 'b''c') RETURNING id",
  "DELETE FROM tasks USING users WHERE tasks.owner = users.id AND users.name = ANY ($1::text[])",
  "SELECT id, count(*) FILTER (WHERE done) FROM tasks WHERE name LIKE 'a%' GROUP BY id FOR UPDATE",
  "WITH moved AS (DELETE FROM a WHERE id = $1 RETURNING *) INSERT INTO b SELECT * FROM moved",
  "SELECT coalesce(sum(amount), 0)::numeric(10, 2) FROM billing.invoices AS t",
];

const notPlain = [
  ["a setting", "SELECT set_config('app.tenant', $1, true)"],
  ["a setting in a string of SQL", "SELECT query_to_xml('SELECT 1', true, true, '')"],
  ["another function of the database", "SELECT set_tenant($1)"],
  ["a function of a schema", "SELECT tenancy.lower($1)"],
  ["a function of the catalog by its full name", "SELECT pg_catalog.lower($1)"],
  ["a function of a schema, with spaces", "SELECT tenancy . lower ($1)"],
  ["a function whose name is quoted", 'SELECT "lower"($1)'],
  ["a function that a quoted schema has", 'SELECT "tenancy".lower($1)'],
  ["a function in FROM", "SELECT * FROM set_tenant('a') AS t"],
  ["a function after a comment", "SELECT set_tenant/**/('a')"],
  ["a function after a line comment", "SELECT set_tenant--\n('a')"],
  ["a name of other letters", "SELECT größe($1)"],
  ["a lock", "SELECT pg_advisory_xact_lock(7)"],
  ["the place of a sequence", "SELECT lastval()"],
  ["an operator by its name", "SELECT 1 OPERATOR(tenancy.+) 2"],
  ["two statements", "SELECT 1; SET app.tenant = 'a'"],
  ["a new table", "SELECT 1 AS a INTO TEMP left_over"],
  ["a new table, in the middle", "SELECT a INTO left_over FROM b WHERE c IN (1)"],
  ["a string with escapes", "SELECT E'\\'', set_tenant('a') --'"],
  ["a string with a prefix", "SELECT E'a'"],
  ["an identifier with escapes", 'SELECT U&"set\\0020tenant"(1)'],
  ["a dollar-quoted string", "SELECT $$'$$ || set_tenant('a') || $$'$$"],
  ["a string that is not closed", "SELECT 'a"],
  ["an identifier that is not closed", 'SELECT "a'],
  ["SET", "SET app.tenant = 'a'"],
  ["MERGE", "MERGE INTO a USING b ON a.id = b.id WHEN MATCHED THEN DELETE"],
  ["a savepoint", "SAVEPOINT mine"],
  ["NOTIFY", "NOTIFY changed"],
  ["nothing", ""],
  ["a placeholder of this check", "SELECT \uffff"],
] as const;

describe("a plain statement", () => {
  it.each(plain)("is %s", (statement) => {
    expect(isPlainStatement(statement)).toBe(true);
  });

  it.each(notPlain)("is not %s", (_, statement) => {
    expect(isPlainStatement(statement)).toBe(false);
  });

  it("is read in time that grows with its length", () => {
    const statement = `SELECT ${"a ".repeat(4_900)}`;
    expect(isPlainStatement(statement)).toBe(true);
  });
});
