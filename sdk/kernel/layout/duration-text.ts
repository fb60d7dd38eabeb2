const units = [
  ["d", 86_400_000, 2],
  ["h", 3_600_000, 2],
  ["min", 60_000, 1],
  ["s", 1_000, 1],
] as const;

/** `3 ms`, `12 s`, `5 min`, `30 h`, `3 d`: the largest unit of which there are enough to lose little. */
export function durationText(ms: number): string {
  for (const [unit, unitMs, least] of units) {
    if (ms >= unitMs * least) return `${Math.round(ms / unitMs)} ${unit}`;
  }
  return `${Math.max(0, Math.round(ms))} ms`;
}
