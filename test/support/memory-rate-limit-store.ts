import type { RateLimitStore } from "../../sdk/rate-limit/rate-limit-store.ts";

interface Timers {
  monotonic(): number;
  schedule(delayMs: number, run: () => void): () => void;
}

interface Slot {
  freeAtMs: number;
  fence: number;
}

/** A store with a virtual clock and latency, for tests that PostgreSQL's real clock does not allow. */
export function memoryRateLimitStore(clock: Timers, latencyMs: () => number): RateLimitStore {
  const limits = new Map<string, { slots: Slot[]; blockedUntilMs: number }>();
  const limitOf = (key: string) => {
    const found = limits.get(key) ?? { slots: [], blockedUntilMs: 0 };
    limits.set(key, found);
    return found;
  };
  const latency = () => new Promise<void>((resolve) => clock.schedule(latencyMs(), resolve));

  return {
    async acquire({ key, limit, count, leaseMs }) {
      await latency();
      const nowMs = clock.monotonic();
      const { slots, blockedUntilMs } = limitOf(key);
      while (slots.length < limit) slots.push({ freeAtMs: 0, fence: 0 });
      const free = slots
        .slice(0, limit)
        .flatMap((slot, index) => (slot.freeAtMs <= nowMs ? [{ slot, index }] : []));
      const taken = nowMs < blockedUntilMs ? [] : free.slice(0, count);
      for (const { slot } of taken) {
        slot.freeAtMs = nowMs + leaseMs;
        slot.fence += 1;
      }
      const nextMs = Math.max(blockedUntilMs, Math.min(...slots.map(({ freeAtMs }) => freeAtMs)));
      await latency();
      return {
        slots: taken.map(({ slot, index }) => ({ slot: index, fence: String(slot.fence) })),
        retryInMs: Math.min(1_000, Math.max(0, nextMs - nowMs)),
      };
    },
    async release(key, released) {
      await latency();
      for (const { slot: index, fence, freeInMs } of released) {
        const slot = limitOf(key).slots[index];
        if (slot && String(slot.fence) === fence) slot.freeAtMs = clock.monotonic() + freeInMs;
      }
    },
    async block(key, durationMs) {
      await latency();
      const limit = limitOf(key);
      limit.blockedUntilMs = Math.max(limit.blockedUntilMs, clock.monotonic() + durationMs);
    },
  };
}
