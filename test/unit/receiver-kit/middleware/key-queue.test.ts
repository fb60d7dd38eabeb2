import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KeyQueue } from "../../../../receiver-kit/middleware.ts";

describe("KeyQueue", () => {
  it("lets one caller enter when another leaves twice", async () => {
    const queue = new KeyQueue();
    const leaveFirst = await queue.enter("task");
    const second = queue.enter("task");
    leaveFirst();
    leaveFirst();
    const leaveSecond = await second;
    let thirdIsIn = false;
    const third = queue.enter("task").then((leave) => {
      thirdIsIn = true;
      return leave;
    });
    leaveFirst();
    await Promise.resolve();
    expect(thirdIsIn).toBe(false);
    leaveSecond();
    (await third)();
  });

  it("keeps nothing for unused keys, in any order of entering and leaving", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 12 }),
        async (scheduler, keys) => {
          const queue = new KeyQueue();
          const inside = new Map<string, number>();
          const visits = keys.map(async (key) => {
            await scheduler.schedule(Promise.resolve());
            const leave = await queue.enter(key);
            inside.set(key, (inside.get(key) ?? 0) + 1);
            expect(inside.get(key)).toBe(1);
            await scheduler.schedule(Promise.resolve());
            inside.set(key, 0);
            leave();
          });
          await scheduler.waitIdle();
          await Promise.all(visits);
          expect(queue.size).toBe(0);
        },
      ),
      { numRuns: 100 },
    );
  });
});
