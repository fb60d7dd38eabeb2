import type { RateLimitStore } from "../../../../sdk/rate-limit/shared-permits.ts";

interface Timers {
  monotonic(): number;
  schedule(delayMs: number, run: () => void): () => void;
}

interface KeyState {
  grantedAtMs: number[];
  blockedUntilMs: number;
}

/** A store with a virtual clock and latency, for tests that PostgreSQL's real clock does not allow. */
export function memoryRateLimitStore(clock: Timers, latencyMs: () => number): RateLimitStore {
  const keys = new Map<string, KeyState>();
  const stateOf = (key: string) => {
    const found = keys.get(key) ?? { grantedAtMs: [], blockedUntilMs: 0 };
    keys.set(key, found);
    return found;
  };
  const latency = () => new Promise<void>((resolve) => clock.schedule(latencyMs(), resolve));

  return {
    async acquire({ key, limit, count, windowMs }) {
      await latency();
      const nowMs = clock.monotonic();
      const state = stateOf(key);
      state.grantedAtMs = state.grantedAtMs.filter((atMs) => atMs > nowMs - windowMs);
      const free = nowMs < state.blockedUntilMs ? 0 : limit - state.grantedAtMs.length;
      const granted = Math.max(0, Math.min(count, free));
      state.grantedAtMs.push(...Array.from({ length: granted }, () => nowMs));
      const nextMs = Math.max(state.blockedUntilMs, (state.grantedAtMs[0] ?? nowMs) + windowMs);
      await latency();
      return { granted, retryInMs: nextMs - nowMs };
    },
    async block(key, durationMs) {
      await latency();
      const state = stateOf(key);
      state.blockedUntilMs = Math.max(state.blockedUntilMs, clock.monotonic() + durationMs);
    },
  };
}
