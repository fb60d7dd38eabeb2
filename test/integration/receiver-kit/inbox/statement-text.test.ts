import { describe, expect, it } from "vitest";
import {
  type Database,
  fromFirstWord,
  hasSecondStatement,
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

describe("hasSecondStatement", () => {
  const trigger =
    "CREATE TEMP TRIGGER a AFTER INSERT ON b BEGIN SELECT CASE WHEN 1 THEN 2 END; DELETE FROM b; END";
  it.each([
    ["INSERT INTO a VALUES (1); INSERT INTO a VALUES (2)", true],
    ["INSERT INTO a VALUES (1); -- ;", false],
    [";; INSERT INTO a VALUES (1);;", false],
    ["INSERT INTO a VALUES ('; a'';b', \"; c\", `; d`, [; e]) /* ; f */", false],
    ["SELECT ';'; COMMIT", true],
    [trigger, false],
    [`${trigger};`, false],
    [`${trigger}; COMMIT`, true],
  ])("of %j is %s", (statement, expected) => {
    expect(hasSecondStatement(statement)).toBe(expected);
  });
});
