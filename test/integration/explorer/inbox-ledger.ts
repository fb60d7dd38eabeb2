import type { InboxKeyOrder, InboxRowSummary } from "../../../receiver-kit/inbox/inbox.ts";
import type { ExploredProcess } from "./explored-process.ts";
import type { ExploredEvent } from "./inbox-scope.ts";
import type { StoreUnderTest } from "./memory-store.ts";

/** What handlers did and what may not happen. */
export interface InboxLedger {
  readonly violation: string | undefined;
  /** One event, or those of a batch. */
  start(process: ExploredProcess, handled: readonly Handled[]): readonly Attempt[];
  /** The attempt was cancelled: its lease is lost. */
  aborted(attempt: Attempt): void;
  /** Its leases may end. */
  paused(process: ExploredProcess): void;
  end(attempt: Attempt): void;
  effect(id: string): void;
  setState(taskId: string, status: string, occurredAt: string, id: string): void;
  released(id: string, attempt: number): void;
  died(ids: readonly string[]): void;
  observe(store: StoreUnderTest, acknowledged: ReadonlySet<string>): Promise<void>;
  isSettled(): boolean;
  finalViolation(events: readonly ExploredEvent[]): string | undefined;
  fingerprint(): string;
}

interface Handled {
  readonly id: string;
  readonly key: string;
  readonly attempt: number;
}

export interface Attempt extends Handled {
  readonly process: ExploredProcess;
  isDisturbed: boolean;
}

const settledStates = new Set(["done", "stale", "dead", "quarantined"]);

export function createInboxLedger(limits: {
  readonly attemptsMax: number;
  readonly keyOrder: InboxKeyOrder;
  readonly batches: "events" | "states" | undefined;
  readonly badEvent: string | undefined;
}): InboxLedger {
  let violation: string | undefined;
  let attempts: Attempt[] = [];
  /** Attempts of a row by number, without those that were released. */
  const starts = new Map<string, number>();
  const effects = new Map<string, number>();
  const states = new Map<string, { readonly status: string; readonly occurredAt: string }>();
  let rows: readonly InboxRowSummary[] = [];
  const check = (holds: boolean, message: string) => {
    if (!holds) violation ??= message;
  };
  return {
    get violation() {
      return violation;
    },
    start(process, handled) {
      attempts = attempts.filter((attempt) => attempt.process.state !== "dead");
      const before = attempts.filter((each) => !each.isDisturbed);
      for (const { id, key, attempt: number } of handled) {
        for (const other of before.filter((each) => each.key === key)) {
          const isDisturbed = other.process.state !== "running";
          check(
            isDisturbed,
            `K1: ${process.name} handles ${id} while ${other.process.name} handles ${other.id} of the same task`,
          );
        }
        check(number <= limits.attemptsMax, `A1: attempt ${number} of ${id} exceeds the limit`);
        // Of a batch that fails, each event is handled alone, and that is the same attempt. Of one that a crash ends, the
        // first counts, which the handler of states may not have seen.
        if (handled.length > 1 || limits.batches === "states") continue;
        const name = `${id} ${number}`;
        starts.set(name, (starts.get(name) ?? 0) + 1);
      }
      const started = handled.map((each): Attempt => ({ ...each, process, isDisturbed: false }));
      attempts.push(...started);
      return started;
    },
    aborted(attempt) {
      attempt.isDisturbed = true;
    },
    paused(process) {
      for (const attempt of attempts) attempt.isDisturbed ||= attempt.process === process;
    },
    end(attempt) {
      attempts = attempts.filter((other) => other !== attempt);
    },
    effect(id) {
      effects.set(id, (effects.get(id) ?? 0) + 1);
      check(effects.get(id) === 1, `I4: the effect of ${id} took place twice`);
    },
    setState(taskId, status, occurredAt, id) {
      const before = states.get(taskId);
      check(
        !before || before.occurredAt < occurredAt,
        `I3: ${id} set ${taskId} to ${status} after something newer`,
      );
      states.set(taskId, { status, occurredAt });
    },
    released(id, attempt) {
      starts.delete(`${id} ${attempt}`);
    },
    died(ids) {
      for (const id of ids)
        check((starts.get(`${id} ${limits.attemptsMax}`) ?? 0) <= 1, `A1: ${id} died early`);
    },
    async observe(store, acknowledged) {
      rows = await store.rows();
      const ids = rows.map(({ id }) => id);
      for (const id of acknowledged) check(ids.includes(id), `I1: ${id} was acknowledged and has no row`);
      check(new Set(ids).size === ids.length, "I2: a delivery has two rows");
      for (const { id, attempts: counted } of rows) {
        const started = [...starts].filter(([name]) => name.startsWith(`${id} `));
        const total = started.reduce((sum, [, count]) => sum + count, 0);
        check(total <= counted, `A1: ${total} attempts of ${id} were started, ${counted} are counted`);
      }
    },
    isSettled: () => rows.every(({ state }) => settledStates.has(state)),
    finalViolation(events) {
      for (const { id, state, attempts: count } of rows) {
        if (state === "dead" && count < limits.attemptsMax)
          return `A1: ${id} is dead after ${count} attempts`;
        if (state === "dead" && limits.badEvent !== undefined && id !== limits.badEvent)
          return `D1: ${id} is dead because of ${limits.badEvent}`;
        if (state === "dead" || (state === "stale" && limits.batches === "states")) continue;
        if (effects.get(id) !== 1)
          return `I4: ${id} is ${state} and took effect ${effects.get(id) ?? 0} times`;
      }
      const isDead = (id: string) => rows.some((row) => row.id === id && row.state === "dead");
      for (const taskId of new Set(events.map((event) => event.taskId))) {
        const [newest] = events
          .filter((event) => event.taskId === taskId && !isDead(event.id))
          .sort((a, b) => b.at - a.at);
        if (newest && states.get(taskId)?.status !== newest.status) {
          return `E1: ${taskId} is ${states.get(taskId)?.status}, its newest event says ${newest.status}`;
        }
      }
      return undefined;
    },
    fingerprint: () =>
      JSON.stringify([
        [...starts].sort(),
        [...effects].sort(),
        [...states].sort(),
        attempts
          .map(({ id, attempt, isDisturbed, process }) => `${id} ${attempt} ${isDisturbed} ${process.state}`)
          .sort(),
      ]),
  };
}
