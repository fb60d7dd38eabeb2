import type { Random } from "../../../integration/simulation/random.ts";
import type { SettableClock } from "../../../support/settable-clock.ts";

/** Sets a clock forward or back, by up to so many seconds; returns how it is set right. */
export function jump(
  clock: SettableClock | undefined,
  maxSeconds: number,
  random: Random,
): () => Promise<void> {
  const seconds = random.integer(Math.ceil(maxSeconds / 20), maxSeconds);
  clock?.set(random.happens(0.5) ? seconds : -seconds);
  return async () => clock?.set(0);
}
