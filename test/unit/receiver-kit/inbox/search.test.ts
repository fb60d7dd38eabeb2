import { describe, expect, it } from "vitest";
import type { InboxSearch } from "../../../../receiver-kit/inbox/inbox.ts";
import {
  type SearchedPart,
  type SearchedStorage,
  searchInSteps,
} from "../../../../receiver-kit/inbox/search.ts";

const rows = 5_000_000;
const stepRows = 5_000;

/** A row per second, and a dead one in each `deadEach`; none of them matches. */
function createStorage({ waiting = 0, deadEach = rows } = {}) {
  const parts: SearchedPart[] = [];
  let probes = 0;
  const storage: SearchedStorage = {
    stepRows,
    range: async () => ({ first: 1, last: rows }),
    async receiptFrom(seq) {
      probes += 1;
      return { seq, receivedAtMs: seq * 1_000 };
    },
    async unhandledBelow(belowSeq, rowsMax) {
      const count = Math.min(rowsMax, Math.floor((belowSeq - 1) / deadEach));
      const lastDead = Math.floor((belowSeq - 1) / deadEach) * deadEach;
      return count > 0 ? { fromSeq: lastDead - (count - 1) * deadEach, count } : undefined;
    },
    waiting: async (rowsMax) =>
      waiting > rowsMax ? undefined : Array.from({ length: waiting }, (_, n) => n + 1),
    async find(part) {
      parts.push(part);
      return [];
    },
  };
  const search = async (given: InboxSearch) => {
    let looked = 0;
    for await (const step of searchInSteps(storage, given)) looked = step.looked;
    return { looked, steps: parts.length, probes, parts };
  };
  return { search };
}

describe("a search of 5,000,000 rows", () => {
  it("reads all of them in steps where nothing narrows it", async () => {
    const { looked, steps, parts } = await createStorage().search({ keyText: "absent" });
    expect({ looked, steps }).toEqual({ looked: rows, steps: rows / stepRows + 1 });
    expect(parts.every(({ fromSeq, belowSeq }) => belowSeq - fromSeq <= stepRows)).toBe(true);
  });

  it("reads few rows first where few are asked for, and more where they are not found", async () => {
    const { parts } = await createStorage().search({ keyText: "absent", stepRows: 50 });
    const lengths = parts.map(({ fromSeq, belowSeq }) => belowSeq - fromSeq);
    expect(lengths.slice(0, 5)).toEqual([200, 800, 3_200, 5_000, 5_000]);
  });

  it("reads the rows of a time, a minute more on each side, and what died later", async () => {
    const { looked, steps, probes, parts } = await createStorage({ deadEach: 1_000_000 }).search({
      sinceMs: 3_000_000_000,
      untilMs: 3_001_000_000,
    });
    expect(probes).toBeLessThan(50);
    expect(looked).toBeLessThanOrEqual(1_000 + 2 * 60 + 3);
    expect(steps).toBe(2);
    expect(parts).toEqual([
      { fromSeq: 2_999_940, belowSeq: 3_001_060, isUnhandled: false },
      { fromSeq: 1, belowSeq: 2_999_940, isUnhandled: true },
    ]);
  });

  it.each([
    ["dead and quarantined rows", ["dead", "quarantined"], 3],
    ["waiting rows", ["pending", "running"], 7],
  ] as const)("reads %s alone", async (_, states, expected) => {
    const { looked, steps } = await createStorage({ deadEach: 1_500_000, waiting: 7 }).search({ states });
    expect({ looked, steps }).toEqual({ looked: expected, steps: 1 });
  });

  it("reads all rows where too many wait", async () => {
    const { steps } = await createStorage({ waiting: stepRows + 1 }).search({ states: ["pending"] });
    expect(steps).toBe(rows / stepRows + 1);
  });

  it("reads millions of dead rows in steps of the index", async () => {
    const { looked, steps } = await createStorage({ deadEach: 2 }).search({ states: ["dead"] });
    expect({ looked, steps }).toEqual({ looked: rows / 2, steps: rows / 2 / stepRows + 1 });
  });
});
