import { describe, expect, it } from "vitest";
import { PrefetchSize } from "../../../../receiver-kit/worker/prefetch-size.ts";

const sizeAfter = (...elapsedMs: readonly number[]) => {
  const size = new PrefetchSize(4);
  for (const each of elapsedMs) size.usedUpAfter(each);
  return size.rows;
};

describe("the number of rows that a worker has at a time", () => {
  it("the size begins with a row for each slot", () => {
    expect(sizeAfter()).toBe(4);
    expect(new PrefetchSize(4).rowsPerKey).toBe(1);
  });

  it("the size doubles after a claim that was used up in less than 200 ms", () => {
    expect(sizeAfter(199)).toBe(8);
    expect(sizeAfter(200)).toBe(4);
    expect(sizeAfter(1, 1)).toBe(16);
  });

  it("the size is halved after a claim that took more than a second", () => {
    expect(sizeAfter(1, 1, 1_001)).toBe(8);
    expect(sizeAfter(1, 1, 1_000)).toBe(16);
    expect(sizeAfter(1, 1, 500)).toBe(16);
  });

  it("the size has a row for each slot at least, and 512 at most", () => {
    expect(sizeAfter(2_000, 2_000)).toBe(4);
    expect(sizeAfter(...Array.from({ length: 12 }, () => 1))).toBe(512);
  });

  it("the size has the rows of a batch at least, of the largest one, up to 512", () => {
    const size = new PrefetchSize(4);
    const sizes = [10, 6, 2_000].map((rows) => {
      size.atLeast(rows);
      return size.rows;
    });
    expect(sizes).toEqual([10, 10, 512]);
    size.usedUpAfter(2_000);
    expect(size.rows).toBe(512);
  });

  it("more slots than 512 have a row each", () => {
    const size = new PrefetchSize(600);
    size.usedUpAfter(1);
    expect(size.rows).toBe(600);
  });

  it("the rows of one key are enough for a chain in every slot", () => {
    const size = new PrefetchSize(3);
    for (const elapsedMs of [1, 1]) size.usedUpAfter(elapsedMs);
    expect([size.rows, size.rowsPerKey]).toEqual([12, 4]);
  });
});
