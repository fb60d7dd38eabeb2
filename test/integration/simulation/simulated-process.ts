// A simulated process is in one of three states. While `running`, its timers fire and its awaited results arrive. While
// `paused`, as in a long garbage collection or a suspended virtual machine, both are queued; `resume` runs the queue in
// order and continues. `crash` and `exit` lead from both states to `dead`, which is final: the queue is dropped, no
// timer fires and no awaited result arrives. The store is outside of the process and keeps what was committed.

import type { Clock } from "@workspace-tasks/receiver-kit";
import type { CrashPoint } from "./faults.ts";
import type { SimulationWorld } from "./world.ts";

export interface SimulatedProcess {
  readonly name: string;
  /** The clock as the process sees it. */
  readonly clock: Clock;
  /** Sets its wall clock, so that it is ahead of the true time. */
  setClock(aheadMs: number): void;
  /** How often its clock was set. */
  readonly clockChanges: number;
  readonly state: "running" | "paused" | "dead";
  /** Number of pauses so far. */
  readonly pauses: number;
  /** When a call of the inbox last failed or was slow, in monotonic time. */
  inboxTroubleMs: number;
  /** Rejects with a connection error when the process dies. */
  readonly death: Promise<never>;
  /** Resolves after the delay, or later when the process is paused; never when it is dead. */
  sleep(delayMs?: number): Promise<void>;
  /** Crashes or pauses here if the seed says so. */
  crashPoint(point: CrashPoint): Promise<void>;
  crash(point: CrashPoint): void;
  /** Ends in good order. */
  exit(): void;
  pause(forMs: number): void;
  resume(): void;
}

/** Twice the lease of a row. */
export const pauseMsMax = 60_000;

export function createProcess(world: SimulationWorld, name: string): SimulatedProcess {
  const { clock, trace } = world;
  const random = world.random.stream(`process/${name}`);
  const queued: (() => void)[] = [];
  let pauses = 0;
  let aheadMs = 0;
  let clockChanges = 0;
  let state: SimulatedProcess["state"] = "running";
  let rejectDeath: (error: Error) => void = () => {};
  const death = new Promise<never>((_, reject) => {
    rejectDeath = reject;
  });
  death.catch(() => {}); // may have no listener

  const whenRunning = (run: () => void) => {
    if (state === "running") run();
    else if (state === "paused") queued.push(run);
  };
  const schedule: Clock["schedule"] = (delayMs, run) => {
    let cancelled = false;
    const cancel = clock.schedule(delayMs, () =>
      whenRunning(() => {
        if (!cancelled) run();
      }),
    );
    return () => {
      cancelled = true;
      cancel();
    };
  };
  const end = () => {
    state = "dead";
    queued.length = 0;
    rejectDeath(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }));
  };
  const process: SimulatedProcess = {
    name,
    inboxTroubleMs: Number.NEGATIVE_INFINITY,
    death,
    clock: { now: () => clock.now() + aheadMs, monotonic: clock.monotonic, schedule },
    get state() {
      return state;
    },
    setClock(nextMs) {
      aheadMs = nextMs;
      clockChanges += 1;
    },
    get clockChanges() {
      return clockChanges;
    },
    get pauses() {
      return pauses;
    },
    async sleep(delayMs = 0) {
      if (delayMs > 0) await new Promise<void>((resolve) => schedule(delayMs, resolve));
      if (state !== "running") await new Promise<void>((resolve) => whenRunning(resolve));
    },
    async crashPoint(point) {
      if (world.faultOccurs("crash", random)) process.crash(point);
      // Or pauses, mostly for longer than its leases last.
      if (world.faultOccurs("pause", random)) process.pause(random.integer(1_000, pauseMsMax));
      await process.sleep();
    },
    crash(point) {
      if (state === "dead") return;
      world.meet(point);
      trace.log(`${name} crashes at ${point}`);
      end();
    },
    exit() {
      if (state === "dead") return;
      trace.log(`${name} exits`);
      end();
    },
    pause(forMs) {
      if (state !== "running") return;
      trace.log(`${name} is paused`);
      state = "paused";
      pauses += 1;
      clock.schedule(forMs, process.resume);
    },
    resume() {
      if (state !== "paused") return;
      trace.log(`${name} resumes`);
      state = "running";
      for (const run of queued.splice(0)) run();
    },
  };
  return process;
}
