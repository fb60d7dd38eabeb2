import { describe, expect, it } from "vitest";
import type { JournalEntry } from "../../../../mock-server/state/records.ts";
import { createRequestJournal, createRoundTrips } from "../../../../mock-server/world/request-journal.ts";

const entry = (name: string): Omit<JournalEntry, "sequence"> => ({
  atMs: 0,
  router: "base",
  operationName: name,
  operations: ["me"],
  query: "{ me { __typename } }",
  variables: null,
  caller: "anonymous",
  keyId: null,
  userId: null,
  workspaceId: null,
  sourcePlatform: null,
  status: 200,
  errors: [],
  rejection: null,
  faults: [],
  durationMs: 0,
});

function filled(count: number, entriesMax = 10) {
  const journal = createRequestJournal(() => entriesMax);
  for (let number = 1; number <= count; number++) journal.append(entry(`q${number}`));
  return journal;
}

describe("createRequestJournal", () => {
  it("numbers entries from 1, also after old ones have been dropped", () => {
    const journal = filled(25);
    expect(journal.count).toBe(25);
    expect(journal.entries().map(({ sequence }) => sequence)).toEqual([
      16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
    ]);
  });

  it("never returns more entries than its limit", () => {
    for (let count = 0; count <= 45; count++) {
      expect(filled(count).entries()).toHaveLength(Math.min(count, 10));
    }
  });

  it("keeps no entry that a lower limit has dropped", () => {
    let max = 10;
    const journal = createRequestJournal(() => max);
    for (max of [10, 10, 10, 10, 2, 10]) journal.append(entry("q"));
    expect(journal.entries().map(({ sequence }) => sequence)).toEqual([4, 5, 6]);
  });

  it("continues with the next number after a restore", () => {
    const journal = createRequestJournal(() => 10);
    journal.restore(filled(3).entries(), 3);
    expect(journal.append(entry("next")).sequence).toBe(4);
    expect(journal.entries()).toHaveLength(4);
  });
});

const response = (responseBody: string) => ({ requestHeaders: {}, responseHeaders: {}, responseBody });

describe("createRoundTrips", () => {
  it("keeps the round trips of the newest 500 sequence numbers", () => {
    const roundTrips = createRoundTrips();
    for (let sequence = 1; sequence <= 501; sequence++) roundTrips.keep(sequence, response(`${sequence}`));
    expect([roundTrips.get(1), createRoundTrips().get(1)]).toEqual([undefined, undefined]);
    expect(roundTrips.get(2)?.responseBody).toBe("2");
    expect(roundTrips.get(501)?.responseBody).toBe("501");
  });

  it("cuts a body after 16,384 characters and marks it", () => {
    const roundTrips = createRoundTrips();
    roundTrips.keep(1, response("x".repeat(16_384)));
    roundTrips.keep(2, response("x".repeat(16_385)));
    expect(roundTrips.get(1)?.isTruncated).toBe(false);
    expect(roundTrips.get(2)).toMatchObject({ responseBody: "x".repeat(16_384), isTruncated: true });
  });
});
