import { createVirtualClock } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { PlainStatements } from "../../../../../../receiver-kit/inbox/postgres/transactions/plain-statements.ts";

const insert = "INSERT INTO effects VALUES ($1)";
const select = "SELECT 1";

describe("the statements that are known to be plain", () => {
  it("are searched for hidden code once", () => {
    const statements = new PlainStatements(createVirtualClock());
    expect(statements.isWorthLearning(insert)).toBe(true);
    statements.learn([insert], true);
    expect(statements.isWorthLearning(insert)).toBe(false);
    expect(statements.isSingle(insert)).toBe(true);
  });

  it("are searched for hidden code a hundred times where each text has its own values, then if a text comes again", () => {
    const statements = new PlainStatements(createVirtualClock());
    const texts = Array.from({ length: 900 }, (_, index) => `INSERT INTO effects VALUES (${index})`);
    expect(texts.filter((text) => statements.isWorthLearning(text))).toHaveLength(100);
    expect(statements.isWorthLearning(texts[500]!)).toBe(true);
  });

  it("are not those in whose transaction hidden code was found, or that are followed by one that is not plain", () => {
    const statements = new PlainStatements(createVirtualClock());
    statements.learn([insert], false);
    statements.learn([select, "SELECT set_config('a', 'b', true)"], true);
    for (const text of [insert, select])
      expect([statements.isKnown(text), statements.isWorthLearning(text)]).toEqual([false, false]);
  });

  it("stay known to the events of a transaction when one is followed by one that is not, and are learned again", () => {
    const statements = new PlainStatements(createVirtualClock());
    statements.learn([insert], true);
    statements.addSurprise(insert);
    expect([statements.isKnown(insert), statements.beginsPlain(insert)]).toEqual([true, false]);
    expect(statements.isWorthLearning(insert)).toBe(true);
    statements.learn([insert, select], true);
    expect([insert, select].map((text) => statements.beginsPlain(text))).toEqual([true, true]);
  });

  it("are forgotten for a minute after hidden code was found", async () => {
    const clock = createVirtualClock();
    const statements = new PlainStatements(clock);
    statements.learn([insert], true);
    statements.isWorthLearning(select);
    statements.forget();
    expect(statements.isKnown(insert)).toBe(false);
    expect(statements.isWorthLearning(select)).toBe(false);
    await clock.advance(60_000);
    expect(statements.isWorthLearning(select)).toBe(true);
  });
});
