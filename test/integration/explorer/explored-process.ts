// A process of the code under test, as the explorer schedules it. What it asks of its store and of the world is parked:
// a call waits until the explorer lets it happen. Between two such points the process is deterministic.

import type { Clock } from "@workspace-tasks/receiver-kit";

export interface ParkedCall {
  readonly name: string;
  /** Lets it happen; its result reaches the process afterwards. */
  run(): Promise<void>;
  /** Rejects instead. */
  fail(error: Error): void;
}

export interface ExploredTime {
  readonly nowMs: number;
  /** Runs what is due next of the processes that are running. False when nothing is. */
  advance(): boolean;
  jump(byMs: number): void;
  clockOf(process: ExploredProcess): Clock;
}

interface Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly process: ExploredProcess;
  readonly run: () => void;
}

export const startMs = Date.UTC(2026, 5, 1);

export interface ExploredTimers extends ExploredTime {
  /** The timers of a process in their order: what each runs, and when. */
  timersOf(process: ExploredProcess): readonly string[];
  forget(process: ExploredProcess): void;
}

export function createTime(): ExploredTimers {
  let elapsedMs = 0;
  let order = 0;
  let timers: Timer[] = [];
  const fireDue = () => {
    const due = timers.filter(({ dueMs, process }) => dueMs <= elapsedMs && process.state === "running");
    for (const timer of due.sort((a, b) => a.dueMs - b.dueMs || a.order - b.order)) {
      // One of the earlier ones may have cancelled it.
      if (!timers.includes(timer)) continue;
      timers = timers.filter((other) => other !== timer);
      timer.run();
    }
  };
  return {
    get nowMs() {
      return elapsedMs;
    },
    advance() {
      const running = timers.filter(({ process }) => process.state === "running");
      if (running.length === 0) return false;
      elapsedMs = Math.max(elapsedMs, Math.min(...running.map(({ dueMs }) => dueMs)));
      fireDue();
      return true;
    },
    jump(byMs) {
      elapsedMs += byMs;
      fireDue();
    },
    clockOf: (process) => ({
      now: () => startMs + elapsedMs,
      monotonic: () => elapsedMs,
      schedule(delayMs, run) {
        const timer = { dueMs: elapsedMs + delayMs, order: order++, process, run };
        timers.push(timer);
        return () => {
          timers = timers.filter((other) => other !== timer);
        };
      },
    }),
    timersOf: (process) =>
      timers
        .filter((timer) => timer.process === process)
        .sort((a, b) => a.dueMs - b.dueMs || a.order - b.order)
        // The text of a function tells which timer it is. How long it has been due changes nothing.
        .map(({ dueMs, run }) => `${Math.max(-1, dueMs - elapsedMs)} ${String(run).slice(0, 80)}`),
    forget(process) {
      timers = timers.filter((timer) => timer.process !== process);
    },
  };
}

export interface ExploredProcess {
  readonly name: string;
  readonly clock: Clock;
  readonly state: "running" | "paused" | "dead";
  /** Calls that have not happened. */
  readonly parked: readonly ParkedCall[];
  /** Calls that have begun to happen, such as one that waits for a lock. */
  readonly happening: number;
  /** Time has passed since it was paused. */
  readonly mayResume: boolean;
  /** Work in progress besides calls, such as a handler. */
  begin(): () => void;
  /** Waits until the explorer lets `call` happen; never ends in a process that is dead. */
  park<Result>(name: string, call: () => Promise<Result>): Promise<Result>;
  pause(): void;
  /** What happened meanwhile reaches it: its timers first, or the results of its calls. */
  resume(first: "timers" | "results"): void;
  crash(): void;
  fingerprint(): string;
  readonly isIdle: boolean;
}

interface ProcessOptions {
  readonly name: string;
  readonly time: ExploredTimers;
  /** What it remembers, besides its calls and timers. */
  readonly memory: () => string;
}

export function createExploredProcess({ name, time, memory }: ProcessOptions): ExploredProcess {
  let state: ExploredProcess["state"] = "running";
  const happening: string[] = [];
  let working = 0;
  let pausedAtMs = 0;
  let parked: ParkedCall[] = [];
  const queued: { readonly text: string; readonly run: () => void }[] = [];

  const settle = (text: string, run: () => void) => {
    if (state === "running") run();
    else if (state === "paused") queued.push({ text, run });
  };
  const process: ExploredProcess = {
    name,
    get clock() {
      return clock;
    },
    get state() {
      return state;
    },
    get parked() {
      return parked;
    },
    get happening() {
      return happening.length;
    },
    get mayResume() {
      return state === "paused" && time.nowMs > pausedAtMs;
    },
    get isIdle() {
      return parked.length === 0 && happening.length === 0 && working === 0 && queued.length === 0;
    },
    begin() {
      working += 1;
      let isDone = false;
      return () => {
        if (!isDone) working -= 1;
        isDone = true;
      };
    },
    park(callName, call) {
      return new Promise((resolve, reject) => {
        const remove = () => {
          parked = parked.filter((other) => other !== entry);
        };
        const entry: ParkedCall = {
          name: callName,
          async run() {
            remove();
            happening.push(callName);
            const ended = await call().then(
              (result) => ({ text: describe(result), run: () => resolve(result) }),
              (error: unknown) => ({ text: String(error), run: () => reject(error) }),
            );
            happening.splice(happening.indexOf(callName), 1);
            settle(`${callName}: ${ended.text}`, ended.run);
          },
          fail(error) {
            remove();
            settle(`${callName}: ${error.message}`, () => reject(error));
          },
        };
        if (state !== "dead") parked.push(entry);
      });
    },
    pause() {
      state = "paused";
      pausedAtMs = time.nowMs;
    },
    resume(first) {
      state = "running";
      if (first === "timers") time.jump(0);
      for (const { run } of queued.splice(0)) run();
      time.jump(0);
    },
    crash() {
      state = "dead";
      parked = [];
      queued.length = 0;
      time.forget(process);
    },
    fingerprint: () =>
      JSON.stringify([
        ...[state, memory(), time.timersOf(process), parked.map((call) => call.name).sort()],
        ...[happening.toSorted(), queued.map(({ text }) => text), process.mayResume, working],
      ]),
  };
  const clock = time.clockOf(process);
  return process;
}

/** Of the result of a call, for one that has not reached its process. */
function describe(result: unknown): string {
  if (result instanceof Set) return `${result.size}`;
  if (typeof result !== "object" || result === null) return String(result);
  const { claims, ...rest } = result as { readonly claims?: readonly { readonly id: string }[] };
  return claims ? claims.map(({ id }) => id).join() : JSON.stringify(rest);
}
