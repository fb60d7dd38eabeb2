import { describe, expect, it } from "vitest";
import { WakeQueue } from "../../../../../receiver-kit/inbox/memory/wake-queue.ts";
import { createRandom } from "../../../../integration/simulation/random.ts";

describe("WakeQueue", () => {
  it("returns what wakes first, and of two the lower id, as items are added, moved and deleted", () => {
    const random = createRandom(1);
    const items = Array.from({ length: 200 }, (_, id) => ({ id, wakeAtMs: 0 }));
    const queued = new Set<(typeof items)[number]>();
    const queue = new WakeQueue<(typeof items)[number]>();
    for (let step = 0; step < 5_000; step++) {
      const item = random.sample(items)!;
      if (random.happens(0.3)) {
        queue.delete(item);
        queued.delete(item);
      } else {
        item.wakeAtMs = random.integer(0, 100);
        queue.set(item);
        queued.add(item);
      }
      const [first] = [...queued].sort((a, b) => a.wakeAtMs - b.wakeAtMs || a.id - b.id);
      expect(queue.first).toBe(first);
      expect(queue.size).toBe(queued.size);
    }
    expect(new Set(queue)).toEqual(queued);
  });
});
