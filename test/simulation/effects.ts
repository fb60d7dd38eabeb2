import type { HandlerContext, MemoryTransaction } from "workspace-tasks/receiver-kit";
import type { Scene } from "./scene.ts";

type State = { readonly status: string; readonly position: string; readonly eventId: string };
type StateEvent = {
  readonly id: string;
  readonly taskId: string;
  readonly status: string;
  readonly occurredAt: string;
  readonly subTaskId?: string;
};

/** What the handlers did: the application behind the receiver. It survives crashes, as a database does. */
export interface Ledger {
  /** Transactional effects by webhook-id. */
  readonly effects: ReadonlyMap<string, number>;
  /** Effects outside by idempotency key, repetitions included. */
  readonly outside: Map<string, number>;
  /** The state of each task, and of each stage under `task/stage`. */
  readonly board: ReadonlyMap<string, State>;
  takeEffect(context: HandlerContext<MemoryTransaction>): void;
  applyState(event: StateEvent, context: HandlerContext<MemoryTransaction>): void;
}

export function createLedger({ judge, trace }: Scene): Ledger {
  const effects = new Map<string, number>();
  const board = new Map<string, State>();
  return {
    effects,
    board,
    outside: new Map(),
    takeEffect({ id, transaction }) {
      transaction.apply(() => {
        effects.set(id, (effects.get(id) ?? 0) + 1);
        trace.note(`effect of ${trace.nameOf("delivery", id)}`);
      });
    },
    applyState(event, { id, replayed, transaction }) {
      const key = event.subTaskId === undefined ? event.taskId : `${event.taskId}/${event.subTaskId}`;
      const position = positionOf(event);
      transaction.apply(() => {
        const before = board.get(key);
        const forward = !before || position > before.position || (replayed && position === before.position);
        judge.expect(forward, "I3", () => {
          const name = trace.nameOf("delivery", id);
          return `${name} set state ${event.status} at ${position} after ${before?.status} at ${before?.position}`;
        });
        board.set(key, { status: event.status, position, eventId: event.id });
        trace.note(`${trace.nameOf("task", key)} is ${event.status}`);
      });
    },
  };
}

/**
 * Where an event stands among those of its task, worked out anew from the text: time to the nanosecond, terminal after
 * running, then the id. What the tasks API told stands below every delivery of the same instant.
 */
export function positionOf({ id, status, occurredAt }: StateEvent): string {
  const [, second = "", fraction = ""] = /^(.{19})(?:\.(\d+))?Z$/.exec(occurredAt) ?? [];
  const rank = status === "RUNNING" ? 0 : 1;
  return `${second}.${fraction.padEnd(9, "0")} ${rank} ${id.startsWith("reconcile/") ? "!" : id}`;
}
