import { install } from "@sinonjs/fake-timers";

/** Puts a clock that only moves when told to in place of the process's own; for clients that take none. */
export function fakeTime() {
  return install({
    toFake: ["Date", "performance", "setTimeout", "clearTimeout", "setInterval", "clearInterval"],
    now: Date.UTC(2026, 0, 15, 12),
  });
}
