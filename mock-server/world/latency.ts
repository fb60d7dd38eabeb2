import type { Settings } from "../settings/settings.ts";
import type { RandomStreams } from "./random.ts";

/** Standard deviations between the 50th and the 99th percentile of a normal distribution. */
const p99Deviations = 2.326_347_9;

/** The time that one more call takes: log-normal, as response times are, with these percentiles. */
export function drawLatencyMs(random: RandomStreams, { p50Ms, p99Ms }: Settings["latency"]): number {
  if (p99Ms <= p50Ms) return p50Ms;
  const medianMs = Math.max(p50Ms, 1);
  const sigma = Math.log(p99Ms / medianMs) / p99Deviations;
  return Math.round(medianMs * Math.exp(sigma * drawNormal(random)));
}

/** Box–Muller. */
function drawNormal(random: RandomStreams): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random.number("latency")));
  return radius * Math.cos(2 * Math.PI * random.number("latency"));
}
