// The service's side of the rate limit, and what the best of all clients could do with it, computed exactly.

export interface Limit {
  readonly limit: number;
  readonly windowMs: number;
  readonly window: "sliding" | "fixed";
  /** Where fixed windows begin, so that they need not begin with the client. */
  readonly windowOffsetMs: number;
}

/** Counts accepted requests as the service does. Times never decrease. */
export class LimitedService {
  readonly #limit: Limit;
  readonly acceptedAtMs: number[] = [];
  #counted: readonly number[] = [];

  constructor(limit: Limit) {
    this.#limit = limit;
  }

  /** Accepts a request, or returns how long until the next one would be accepted. */
  receive(nowMs: number): number | undefined {
    const { limit, windowMs, window, windowOffsetMs } = this.#limit;
    const isSliding = window === "sliding";
    const sinceMs = Math.floor((nowMs + windowOffsetMs) / windowMs) * windowMs - windowOffsetMs;
    const counted = this.#counted.filter((atMs) => (isSliding ? atMs > nowMs - windowMs : atMs >= sinceMs));
    const isAccepted = counted.length < limit;
    this.#counted = isAccepted ? [...counted, nowMs] : counted;
    if (!isAccepted) return isSliding ? (counted[0] ?? nowMs) + windowMs - nowMs : sinceMs + windowMs - nowMs;
    this.acceptedAtMs.push(nowMs);
    return undefined;
  }
}

/** The most requests in any window of the service. */
export function busiest(
  timesMs: readonly number[],
  { windowMs, window, windowOffsetMs }: Omit<Limit, "limit">,
): number {
  const sorted = timesMs.toSorted((a, b) => a - b);
  if (window === "fixed") {
    const counts = new Map<number, number>();
    for (const atMs of sorted) {
      const number = Math.floor((atMs + windowOffsetMs) / windowMs);
      counts.set(number, (counts.get(number) ?? 0) + 1);
    }
    return Math.max(0, ...counts.values());
  }
  let first = 0;
  return sorted.reduce((most, atMs, index) => {
    while ((sorted[first] ?? atMs) <= atMs - windowMs) first += 1;
    return Math.max(most, index - first + 1);
  }, 0);
}
