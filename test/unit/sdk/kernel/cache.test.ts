import { expect, it, vi } from "vitest";
import { createBoundedCache, getOrCreate } from "../../../../sdk/kernel/cache.ts";

it("a cached value is created once", () => {
  const create = vi.fn((key: string) => key.toUpperCase());
  const cache = new Map<string, string>();
  expect([getOrCreate(cache, "a", create), getOrCreate(cache, "a", create)]).toEqual(["A", "A"]);
  expect(create).toHaveBeenCalledTimes(1);
});

it("a bounded cache keeps the recently used half and at most its limit", () => {
  const cache = createBoundedCache<number, number>(10);
  for (let key = 0; key < 100; key += 1) {
    cache.set(key, key);
    cache.get(0);
  }
  const kept = Array.from({ length: 100 }, (_, key) => key).filter((key) => cache.get(key) !== undefined);
  expect(kept.length).toBeLessThanOrEqual(10);
  expect(kept).toEqual(expect.arrayContaining([0, 97, 98, 99]));
});
