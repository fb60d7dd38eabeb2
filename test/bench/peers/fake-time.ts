import { install } from "@sinonjs/fake-timers";

/** Replaces the process's clock with one that only moves on request, for clients without a clock option. */
export function fakeTime() {
  return install({
    toFake: ["Date", "performance", "setTimeout", "clearTimeout", "setInterval", "clearInterval"],
    now: Date.UTC(2026, 0, 15, 12),
  });
}
