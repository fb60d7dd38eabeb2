import { describe, expect, it } from "vitest";
import {
  type Database,
  fromFirstWord,
  sqliteStatements,
} from "../../../../receiver-kit/inbox/handler-transaction.ts";

describe("fromFirstWord", () => {
  it.each<[Database, string, string]>([
    ["postgres", " ;\n-- COMMIT\n/* BEGIN */ SELECT 1", "SELECT 1"],
    [
      "postgres",
      "/* a */ SELECT CASE WHEN true THEN 1 /* b */ END",
      "SELECT CASE WHEN true THEN 1 /* b */ END",
    ],
    ["postgres", "/* a /* b */ COMMIT */ SELECT 1", "SELECT 1"],
    ["postgres", "/* /* */ */ COMMIT", "COMMIT"],
    ["sqlite", "/* /* */ COMMIT", "COMMIT"],
    ["sqlite", "/*/ SELECT 1", ""],
  ])("on %s, of %j, is %j", (database, statement, text) => {
    expect(fromFirstWord(statement, database)).toBe(text);
  });

  it("takes linear time for comments that follow each other", () => {
    expect(fromFirstWord(`${"/* a */\n".repeat(50_000)}COMMIT`, "postgres")).toBe("COMMIT");
  });
});

describe("sqliteStatements", () => {
  const trigger =
    "CREATE TEMP TRIGGER a AFTER INSERT ON b BEGIN SELECT CASE WHEN 1 THEN 2 END; DELETE FROM b; END";
  it.each([
    ["INSERT INTO a VALUES (1); INSERT INTO a VALUES (2)", ["INSERT", "INSERT"]],
    ["INSERT INTO a VALUES (1); -- ;", ["INSERT"]],
    [";; INSERT INTO a VALUES (1);;", ["INSERT"]],
    ["INSERT INTO a VALUES ('; a'';b', \"; c\", `; d`, [; e]) /* ; f */", ["INSERT"]],
    ["SELECT ';'; COMMIT", ["SELECT", "COMMIT"]],
    [trigger, ["CREATE"]],
    [`${trigger};`, ["CREATE"]],
    [`${trigger}; COMMIT`, ["CREATE", "COMMIT"]],
    [`DELETE FROM b; ${trigger}; DELETE FROM b`, ["DELETE", "CREATE", "DELETE"]],
    ["SELECT 1;COMMIT", ["SELECT", "COMMIT"]],
    ["SELECT 1; -- ab; c", ["SELECT"]],
    ["SELECT '; COMMIT", ["SELECT"]],
    ['SELECT "; COMMIT', ["SELECT"]],
    ["SELECT `; COMMIT", ["SELECT"]],
    ["SELECT [; COMMIT", ["SELECT"]],
    ["SELECT /*; COMMIT", ["SELECT"]],
    [
      "CREATE  TEMPORARY  TRIGGER a BEFORE INSERT ON b BEGIN DELETE FROM b; SELECT CASE WHEN 1 THEN 2 END; DELETE FROM b;END; COMMIT",
      ["CREATE", "COMMIT"],
    ],
    ["CREATE TRIGGER a AFTER INSERT ON b BEGIN DELETE FROM b;  END; COMMIT", ["CREATE", "COMMIT"]],
    ["SELECT 1 AS CREATE TRIGGER; COMMIT", ["SELECT", "COMMIT"]],
  ])("of %j begin with %j", (text, expected) => {
    expect(sqliteStatements(text).map((statement) => /\w+/.exec(statement)?.[0])).toEqual(expected);
  });

  it("of one statement are its text", () => {
    expect(sqliteStatements("SELECT 'a' ; ")).toEqual(["SELECT 'a' ; "]);
  });
});
