// The inbox's clock may be set while workers run: by NTP, by an administrator, by a failover to another server. Only a
// monotonic clock shows it. Each response of the inbox gives bounds for the difference between both clocks; when two
// of these intervals do not meet, the inbox's clock was set meanwhile.
//
// Set forward, every lease seems to have ended. Their holders renew them in the new time, at once when a response shows it
// and at a third of a lease at the latest; so for the time of one lease the old time decides which leases have ended. A
// worker that starts before that renewal does not know the old time, and takes over what is held. Set back, what was stored lies in the future; the
// worker asks the inbox to repair it. A clock that is set and set back between two polls is not noticed here, nor is one that
// was set before the first poll of this worker: the worker repairs the times at its start, and when a row seems to wait for
// longer than any retry or lease.

import type { ClockStats } from "../stats/receiver-stats.ts";

interface Bounds {
  readonly lowMs: number;
  readonly highMs: number;
}

export class StoreClock {
  stats: ClockStats = { jumps: 0, lastJumpMs: null };
  readonly #leaseMs: number;
  #bounds: Bounds | undefined;
  /** The difference before the clock was set forward, and until when it counts. */
  #earlier: { readonly lowMs: number; readonly untilMs: number } | undefined;

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs;
  }

  /** Leases that ended after this time of the inbox are not expired yet; `null` before the first response. */
  reclaimUntilMs(monotonicMs: number): number | null {
    if (this.#earlier && monotonicMs >= this.#earlier.untilMs) this.#earlier = undefined;
    const lowMs = this.#earlier?.lowMs ?? this.#bounds?.lowMs;
    return lowMs === undefined ? null : Math.ceil(monotonicMs + lowMs);
  }

  /** Takes the inbox's time from a response; returns by how much the clock was set since the last one, mostly 0. */
  observe({
    sentMs,
    receivedMs,
    nowMs,
  }: Readonly<Record<"sentMs" | "receivedMs" | "nowMs", number>>): number {
    const last = this.#bounds;
    const next = { lowMs: nowMs - receivedMs, highMs: nowMs - sentMs };
    this.#bounds = next;
    const jumpMs = last ? jumpBetween(last, next) : 0;
    if (jumpMs === 0 || !last) return 0;
    const lastJumpMs = Math.round(jumpMs);
    this.stats = { jumps: this.stats.jumps + 1, lastJumpMs };
    const lowMs = this.#earlier?.lowMs ?? last.lowMs;
    this.#earlier = jumpMs > 0 ? { lowMs, untilMs: receivedMs + this.#leaseMs } : undefined;
    return lastJumpMs;
  }
}

/** Smaller steps are ordinary corrections, which leases and retries tolerate. */
const toleranceMs = 1_000;

function jumpBetween(last: Bounds, next: Bounds): number {
  if (next.lowMs - last.highMs > toleranceMs) return next.lowMs - last.highMs;
  if (last.lowMs - next.highMs > toleranceMs) return next.highMs - last.lowMs;
  return 0;
}
