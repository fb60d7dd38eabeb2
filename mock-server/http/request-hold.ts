import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import type { Hold, HoldOptions, VirtualClock } from "../time/virtual-clock.ts";

/** A request in flight, for which virtual time waits. */
export interface RequestHold extends Hold {
  /** The request is for the world of this clock only. */
  moveTo(clock: Clock | VirtualClock): void;
}

/**
 * Holds every virtual clock among `clocks`.
 * @param linked the same request as its client sees it; it is paused and moved together with this one, and relaxed when
 *   this one is released
 */
export function holdRequest(
  clocks: Iterable<Clock | VirtualClock>,
  options: HoldOptions,
  linked?: RequestHold | undefined,
): RequestHold {
  let holds = holdAll(clocks, options);
  let hasMoved = false;
  const all = (act: (hold: Hold) => void) => {
    for (const [, hold] of holds) act(hold);
  };
  return {
    release() {
      all((hold) => hold.release());
      linked?.relax();
    },
    pause() {
      all((hold) => hold.pause());
      linked?.pause();
    },
    resume() {
      all((hold) => hold.resume());
      linked?.resume();
    },
    relax: () => all((hold) => hold.relax()),
    moveTo(clock) {
      linked?.moveTo(clock);
      if (hasMoved || (holds.length === 1 && holds[0]?.[0] === clock)) return;
      hasMoved = true;
      const old = holds;
      holds = holdAll([clock], options);
      for (const [, hold] of old) hold.release();
    },
  };
}

function holdAll(clocks: Iterable<Clock | VirtualClock>, options: HoldOptions) {
  const holds: [Clock, Hold][] = [];
  for (const clock of clocks) if ("hold" in clock) holds.push([clock, clock.hold(options)]);
  return holds;
}
