import { describe, expect, it } from "vitest";
import { firstWords } from "../../../../receiver-kit/inbox/handler-transaction.ts";

describe("firstWords", () => {
  it.each([
    ["INSERT INTO task_states VALUES (?, ?)", "INSERT INTO task_states VALUES"],
    ["insert or replace into portal.states (a) values ('Ada')", "insert or replace into portal.states"],
    ["UPDATE accounts SET name = 'Ada'", "UPDATE accounts SET"],
    ["DELETE FROM accounts WHERE ssn = 123456789", "DELETE FROM accounts WHERE"],
    ["SELECT * FROM accounts WHERE name = E'Ada'", "SELECT * FROM accounts WHERE"],
    ["-- for Ada\n/* Ada */ ; SELECT 'Ada'", "SELECT"],
    ['SELECT "Ada"', "SELECT"],
    ["SELECT $$Ada$$", "SELECT"],
    ["SELECT x'416461'", "SELECT"],
    ["SET app.tenant TO ada", "SET app.tenant TO"],
    ["INSERT INTO accounts VALUES ada", "INSERT INTO accounts VALUES"],
    ["SELECT id, name FROM accounts", "SELECT"],
    ["'Ada'", ""],
    ["", ""],
  ])("of %j are %j", (statement, words) => {
    expect(firstWords(statement)).toBe(words);
  });

  it("are cut after sixty characters", () => {
    expect(firstWords(`DELETE ${"a".repeat(100)}`).length).toBe(60);
  });
});
