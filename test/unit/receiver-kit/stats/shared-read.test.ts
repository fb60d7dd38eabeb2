import { deferred } from "@workspace-tasks/kernel/deferred.ts";
import { expect, it } from "vitest";
import { sharedRead } from "../../../../receiver-kit/stats/shared-read.ts";

/** A read whose results the test gives, on a clock that it sets. */
function fixture() {
  const reads: ReturnType<typeof deferred<number>>[] = [];
  const clock = { ms: 0, monotonic: () => clock.ms };
  const read = sharedRead(() => {
    const next = deferred<number>();
    reads.push(next);
    return next.promise;
  }, clock);
  return { reads, clock, read };
}

it("a hundred callers at once share one read", async () => {
  const { reads, read } = fixture();
  const results = Promise.all(Array.from({ length: 100 }, read));
  expect(reads.length).toBe(1);
  reads[0]?.resolve(7);
  expect(await results).toEqual(Array(100).fill(7));
});

it("however often it is asked, it reads at most a twentieth of the time", async () => {
  const { reads, clock, read } = fixture();
  const readMs = 100;
  for (; clock.ms < 60_000; clock.ms += 10) {
    const result = read();
    if (reads.length * 2_100 > clock.ms) {
      // The read in progress ends after its time.
      clock.ms += readMs;
      reads.at(-1)?.resolve(reads.length);
    }
    expect(await result).toBe(reads.length);
  }
  expect(reads.length).toBeLessThanOrEqual(30);
  expect(reads.length).toBeGreaterThan(25);
});

it("a read that takes no time is not kept", async () => {
  const { reads, read } = fixture();
  for (const value of [1, 2]) {
    const result = read();
    reads.at(-1)?.resolve(value);
    expect(await result).toBe(value);
  }
});

it("a failed read fails for those who wait for it, and is not kept", async () => {
  const { reads, clock, read } = fixture();
  const failing = [read(), read()];
  clock.ms += 1_000;
  reads[0]?.reject(new Error("no connection"));
  for (const each of failing) await expect(each).rejects.toThrow("no connection");
  const next = read();
  reads[1]?.resolve(1);
  expect(await next).toBe(1);
});
