import type { Clock } from "workspace-tasks/receiver-kit";
import type { CrashPoint } from "./crashes.ts";
import type { Scene } from "./scene.ts";

/**
 * The life of one simulated process. A dead process does nothing more: its timers do not fire and whatever it waits
 * for never comes. One that stands still does all of it later, at once, when it wakes up.
 */
export interface ProcessLife {
  readonly name: string;
  /** The clock as the process has it. */
  readonly clock: Clock;
  readonly state: "alive" | "still" | "dead";
  /** How often it stood still. */
  readonly stalls: number;
  /** Rejects when the process dies. */
  readonly death: Promise<never>;
  /** Resolves after so much time; later when the process stands still, never when it is dead. */
  pass(delayMs?: number): Promise<void>;
  /** Dies here if the seed says so; then the result never comes. */
  mayDieAt(point: CrashPoint): Promise<void>;
  die(point: CrashPoint | "ordered"): void;
  stall(forMs: number): void;
  wake(): void;
}

/** Twice the lease of a row. */
export const stallMsMax = 60_000;

export function createProcessLife(scene: Scene, name: string): ProcessLife {
  const { clock, trace, crashes } = scene;
  const chance = scene.chance.stream(`process/${name}`);
  const held: (() => void)[] = [];
  let stalls = 0;
  let state: ProcessLife["state"] = "alive";
  let announceDeath: (error: Error) => void = () => {};
  const death = new Promise<never>((_, reject) => {
    announceDeath = reject;
  });
  death.catch(() => {}); // nobody may be listening

  const whenAwake = (run: () => void) => {
    if (state === "alive") run();
    else if (state === "still") held.push(run);
  };
  const life: ProcessLife = {
    name,
    death,
    clock: {
      now: clock.now,
      monotonic: clock.monotonic,
      schedule: (delayMs, run) => {
        let cancelled = false;
        const cancel = clock.schedule(delayMs, () =>
          whenAwake(() => {
            if (!cancelled) run();
          }),
        );
        return () => {
          cancelled = true;
          cancel();
        };
      },
    },
    get state() {
      return state;
    },
    get stalls() {
      return stalls;
    },
    async pass(delayMs = 0) {
      if (delayMs > 0) await new Promise<void>((resolve) => life.clock.schedule(delayMs, resolve));
      if (state !== "alive") await new Promise<void>((resolve) => whenAwake(resolve));
    },
    async mayDieAt(point) {
      if (scene.troubled("crash", chance)) life.die(point);
      // Or stands still there, mostly for longer than its leases last.
      if (scene.troubled("stall", chance)) life.stall(chance.integer(1_000, stallMsMax));
      await life.pass();
    },
    die(point) {
      if (state === "dead") return;
      if (point !== "ordered") crashes[point] += 1;
      trace.note(`${name} dies at ${point}`);
      state = "dead";
      held.length = 0;
      announceDeath(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }));
    },
    stall(forMs) {
      if (state !== "alive") return;
      trace.note(`${name} stands still`);
      state = "still";
      stalls += 1;
      clock.schedule(forMs, life.wake);
    },
    wake() {
      if (state !== "still") return;
      trace.note(`${name} wakes up`);
      state = "alive";
      for (const run of held.splice(0)) run();
    },
  };
  return life;
}
