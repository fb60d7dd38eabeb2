import type { HandlerContext, MemoryTransaction } from "@workspace-tasks/receiver-kit";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { SimulationWorld } from "./world.ts";

export interface TaskEvent {
  readonly id: string;
  readonly taskId: string;
  readonly status: string;
  readonly occurredAt: string;
  readonly subTaskId?: string;
}

interface TaskState {
  readonly status: string;
  readonly position: string;
}

/** The application behind the receiver: what its handlers wrote. Survives crashes, as a database does. */
export interface Effects {
  /** Committed effects by webhook-id. */
  readonly counts: ReadonlyMap<string, number>;
  /** The state of each task, and of each stage under `task/stage`. */
  readonly states: ReadonlyMap<string, TaskState>;
  add(process: string, context: EffectContext): void;
  /** Whether a process that was not disturbed is handling an event. */
  isHandling(): boolean;
  /** Runs the work of an attempt, and checks that no other process is at the same event for no reason. */
  attempt(process: SimulatedProcess, context: AttemptContext, work: () => Promise<void>): Promise<void>;
  setState(process: string, event: TaskEvent, context: EffectContext): void;
}

export type EffectContext = Pick<HandlerContext<MemoryTransaction>, "id" | "replayed" | "transaction">;

export function createEffects({ check, trace, clock, storeClock }: SimulationWorld): Effects {
  const counts = new Map<string, number>();
  const states = new Map<string, TaskState>();
  const running = new Map<string, Set<RunningAttempt>>();
  return {
    counts,
    states,
    add(process, { id, transaction }) {
      transaction.apply(() => {
        counts.set(id, (counts.get(id) ?? 0) + 1);
        trace.log(`${process} commits the effect of ${trace.nameOf("delivery", id)}`);
      });
    },
    isHandling: () => [...running.values()].some((attempts) => [...attempts].some(isInProgress)),
    async attempt(process, { id, signal }, work) {
      const attempts = running.get(id) ?? new Set();
      running.set(id, attempts);
      for (const other of attempts) {
        const mayHaveLostLease = storeClock.mayHaveEndedLeases() || !isInProgress(other);
        check("C1", mayHaveLostLease, () => {
          return `${trace.nameOf("delivery", id)} is handled by ${process.name} while ${other.process.name} handles it`;
        });
      }
      const attempt = { process, signal, pauses: process.pauses, startedMs: clock.monotonic() };
      attempts.add(attempt);
      try {
        await work();
      } finally {
        attempts.delete(attempt);
      }
    },
    setState(process, event, { id, replayed, transaction }) {
      const key = keyOf(event);
      const position = positionOf(event);
      transaction.apply(() => {
        const before = states.get(key);
        const forward = !before || position > before.position || (replayed && position === before.position);
        check("I3", forward, () => {
          const name = trace.nameOf("delivery", id);
          return `${name} set state ${event.status} at ${position} after ${before?.status} at ${before?.position}`;
        });
        states.set(key, { status: event.status, position });
        trace.log(`${process} sets ${trace.nameOf("task", key)} to ${event.status}`);
      });
    },
  };
}

type AttemptContext = Pick<HandlerContext<MemoryTransaction>, "id" | "signal">;

interface RunningAttempt {
  readonly process: SimulatedProcess;
  readonly signal: AbortSignal;
  readonly pauses: number;
  readonly startedMs: number;
}

/** True while an attempt has not ended and its process has no reason to lose the lease: no pause, and no inbox trouble. */
function isInProgress({ process, signal, pauses, startedMs }: RunningAttempt): boolean {
  const isUndisturbed = process.pauses === pauses && process.inboxTroubleMs < startedMs;
  return process.state === "running" && !signal.aborted && isUndisturbed;
}

export const keyOf = ({ taskId, subTaskId }: TaskEvent): string =>
  subTaskId === undefined ? taskId : `${taskId}/${subTaskId}`;

/**
 * The position of an event within its task, computed independently of the receiver: time to the nanosecond, terminal
 * after running, then the id. An event read from the tasks API sorts before every delivery of the same instant.
 */
export function positionOf({ id, status, occurredAt }: TaskEvent): string {
  const [, second = "", fraction = ""] = /^(.{19})(?:\.(\d+))?Z$/.exec(occurredAt) ?? [];
  const rank = status === "RUNNING" ? 0 : 1;
  return `${second}.${fraction.padEnd(9, "0")} ${rank} ${id.startsWith("reconcile#") ? "!" : id}`;
}
