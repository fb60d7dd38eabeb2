import { describe, expect, it } from "vitest";
import {
  type Boundary,
  boundaryOf,
  controlKeyword,
  controlRejected,
  endedBySql,
  firstWords,
  guarded,
  leaseLost,
  NestedTransaction,
  remembering,
  superseded,
  transactionEnded,
} from "../../../../receiver-kit/inbox/handler-transaction.ts";

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
    ["UPDATE settings SET name = 'Ada'", "UPDATE settings SET"],
    ["DELETE  FROM  accounts", "DELETE FROM accounts"],
    ["CREATE TABLE IF NOT EXISTS accounts (name)", "CREATE TABLE IF NOT EXISTS"],
    ["CREATE 1a", "CREATE"],
    ["'Ada'", ""],
    ["", ""],
  ])("of %j are %j", (statement, words) => {
    expect(firstWords(statement)).toBe(words);
  });

  it("are cut after sixty characters", () => {
    expect(firstWords(`DELETE ${"a".repeat(100)}`).length).toBe(60);
  });
});

describe("controlKeyword", () => {
  it.each([
    ["BEGIN", "BEGIN"],
    ["  /* a */ begin;", "BEGIN"],
    ["START TRANSACTION", "START"],
    ["COMMIT AND CHAIN", "COMMIT"],
    ["END", "END"],
    ["ABORT", "ABORT"],
    ["ROLLBACK", "ROLLBACK"],
    ["ROLLBACK WORK", "ROLLBACK"],
    ["ROLLBACK TRANSACTION", "ROLLBACK"],
    ["ROLLBACK AND CHAIN", "ROLLBACK"],
    ["rollback  token", "ROLLBACK"],
    ["PREPARE  TRANSACTION 'a'", "PREPARE  TRANSACTION"],
    ["ROLLBACK TO a", undefined],
    ["ROLLBACK  TRANSACTION  TO SAVEPOINT a", undefined],
    ["ROLLBACK WORK TO a", undefined],
    ["PREPARE a AS SELECT 1", undefined],
    ["SAVEPOINT a", undefined],
    ["RELEASE a", undefined],
    ["COMMITTED", undefined],
    ["SELECT 'COMMIT'", undefined],
    ["SELECT 1; COMMIT", undefined],
    ["INSERT INTO a VALUES ('RELEASE workspace_tasks_1')", undefined],
  ])("of %j is %j", (statement, keyword) => {
    expect(controlKeyword(statement, "postgres")).toBe(keyword);
    expect(controlKeyword(statement, "sqlite")).toBe(keyword);
  });

  it.each([
    ["SAVEPOINT workspace_tasks_1", /savepoint: expected a name that does not contain workspace_tasks_/],
    ["release WORKSPACE_TASKS_1", /savepoint: expected a name/],
    ["-- a\nROLLBACK TO workspace_tasks_1", /savepoint: expected a name/],
    [null, /expected SQL as text, and its values as the second argument, got null/],
    [{ text: "SELECT 1" }, /expected SQL as text.*got object/],
  ])("rejects %j", (statement, message) => {
    const expected = expect.objectContaining({
      code: "ARGUMENT_INVALID",
      message: expect.stringMatching(message),
    });
    expect(() => controlKeyword(statement, "postgres")).toThrow(expected);
  });
});

describe("boundaryOf", () => {
  it.each<[string, Boundary | undefined]>([
    ["BEGIN", "begin"],
    ["begin ;", "begin"],
    ["BEGIN -- a", "begin"],
    ["/* a */ BEGIN  IMMEDIATE  TRANSACTION", "begin"],
    ["BEGIN DEFERRED", "begin"],
    ["BEGIN EXCLUSIVE", "begin"],
    ["BEGIN WORK", "begin"],
    ["START  TRANSACTION", "begin"],
    ["START TRANSACTION  ISOLATION  LEVEL  READ  COMMITTED", "begin"],
    ["BEGIN ISOLATION LEVEL READ COMMITTED, READ  WRITE", "begin"],
    ["BEGIN READ WRITE", "begin"],
    ["COMMIT", "commit"],
    ["END  TRANSACTION;", "commit"],
    ["COMMIT WORK /* a */", "commit"],
    ["ROLLBACK", "rollback"],
    ["ABORT  WORK", "rollback"],
    ["ROLLBACK TRANSACTION", "rollback"],
    ["BEGIN ISOLATION LEVEL SERIALIZABLE", undefined],
    ["BEGIN READ ONLY", undefined],
    ["BEGIN; SELECT 1", undefined],
    ["BEGINNING", undefined],
    ["SELECT 1; BEGIN", undefined],
    ["STARTTRANSACTION", undefined],
    ["COMMIT AND CHAIN", undefined],
    ["COMMITS", undefined],
    ["SELECT 1; COMMIT", undefined],
    ["ROLLBACK TO a", undefined],
    ["ROLLBACKS", undefined],
    ["SELECT 1; ROLLBACK", undefined],
    ["", undefined],
  ])("of %j is %j", (statement, boundary) => {
    expect(boundaryOf(statement, "postgres")).toBe(boundary);
    expect(boundaryOf({ text: statement }, "postgres")).toBeUndefined();
  });
});

describe("a nested transaction", () => {
  const nested = () =>
    new NestedTransaction((error) => {
      throw error;
    });
  const ended = expect.objectContaining({ code: "TRANSACTION_ENDED_BY_SQL" });

  it.each<[Boundary, readonly string[]]>([
    ["commit", ["RELEASE SAVEPOINT workspace_tasks_nested"]],
    [
      "rollback",
      ["ROLLBACK TO SAVEPOINT workspace_tasks_nested", "RELEASE SAVEPOINT workspace_tasks_nested"],
    ],
  ])("is a savepoint, and its %s what ends it", (boundary, statements) => {
    const transaction = nested();
    for (let again = 0; again < 2; again++) {
      expect(transaction.statementsOf("begin")).toEqual(["SAVEPOINT workspace_tasks_nested"]);
      transaction.passed("begin");
      expect(() => transaction.requireEnded()).toThrow(
        expect.objectContaining({ code: "QUERY_NOT_AWAITED" }),
      );
      expect(transaction.statementsOf(boundary)).toEqual(statements);
      transaction.passed(boundary);
      transaction.requireEnded();
    }
  });

  it("is open once at a time, and ends what has begun", () => {
    const transaction = nested();
    expect(() => transaction.statementsOf("commit")).toThrow(controlRejected("COMMIT"));
    expect(() => transaction.statementsOf("rollback")).toThrow(controlRejected("ROLLBACK"));
    transaction.passed("begin");
    expect(() => transaction.statementsOf("begin")).toThrow(ended);
  });
});

describe("what a handler gets in place of a client", () => {
  class Client {
    #sent = 0;
    name = "own";
    query() {
      this.#sent += 1;
      return this.#sent;
    }
    end() {
      return "ended";
    }
  }

  it("runs its methods on it, has the members in place of its own, and keeps what is set from it", () => {
    const client = new Client();
    const end = () => "refused";
    const own = guarded(client, { end });
    expect([own.query(), own.query(), own.end(), own.name]).toEqual([1, 2, "refused", "own"]);
    expect(own).toBeInstanceOf(Client);
    expect(own.constructor).toBe(Client);
    expect(["name" in own, "end" in own, "query" in own, "other" in own]).toEqual([true, true, true, false]);
    expect(own.end).toBe(end);
    own.name = "changed";
    Object.freeze(own);
    expect([own.name, client.name, Object.isFrozen(client)]).toEqual(["changed", "own", false]);
  });
});

describe("what is remembered of texts", () => {
  it("is read once for each of the last hundred, and each time for a long text or none", () => {
    const texts: unknown[] = [];
    const lengthOf = remembering((text) => texts.push(text));
    for (const text of ["a", "a", "b", "a"]) lengthOf(text);
    expect(texts).toEqual(["a", "b"]);
    const long = "a".repeat(10_001);
    lengthOf(long);
    lengthOf(long);
    expect(texts.length).toBe(4);
    lengthOf(long.slice(1));
    lengthOf(long.slice(1));
    expect(texts.length).toBe(5);
    lengthOf(undefined as never);
    expect(texts.at(-1)).toBeUndefined();
  });
});

describe("why a transaction of a handler ends", () => {
  it.each([
    [leaseLost(), "LEASE_LOST", /another worker/],
    [superseded(), "SUPERSEDED", /a newer event/],
    [transactionEnded(), "TRANSACTION_ENDED", /has ended/],
    [controlRejected("COMMIT"), "TRANSACTION_ENDED_BY_SQL", /^COMMIT was not executed/],
    [endedBySql("INSERT OR ROLLBACK"), "TRANSACTION_ENDED_BY_SQL", /ended by INSERT OR ROLLBACK;/],
  ])("is said by %s", (error, code, message) => {
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
  });
});
