import type { MemoryTransaction } from "@workspace-tasks/receiver-kit";
import * as inbox from "../../../receiver-kit/inbox/inbox.ts";
import type * as Parts from "./explored-parts.ts";
import { type ExploredProcess, type ExploredTimers, startMs } from "./explored-process.ts";

/** A store that the processes share, as the explorer sees it. */
export interface StoreUnderTest {
  /** Turns of the event loop that follow a call until all that it causes has happened. */
  readonly quietTurns: number;
  connect(process: ExploredProcess): inbox.InboxStore<unknown>;
  /** What was not committed is lost. */
  crash(process: ExploredProcess): Promise<void>;
  claimed(process: ExploredProcess, claims: readonly inbox.InboxClaim[]): void;
  /** The keys whose leases a process holds. */
  heldBy(process: ExploredProcess): string;
  /** The key of a lease, and how many leases of it have followed. */
  leaseText(lease: inbox.InboxLease): string;
  /** Rows, heads and leases, with times relative to now. */
  fingerprint(time: ExploredTimers): string;
  rows(): Promise<readonly inbox.InboxRowSummary[]>;
  /** Writes through the transaction of a handler; `note` is called for effects in memory, when they are committed. */
  writeEffect(transaction: unknown, note: () => void, id: string): Promise<void>;
  writeState(transaction: unknown, note: () => void, event: StateWrite): Promise<void>;
  /** Where the effects are in the database. */
  readEffects?(): { readonly effects: readonly string[]; readonly states: readonly StateWrite[] };
  dispose(): Promise<void> | void;
}

export interface StateWrite {
  readonly taskId: string;
  readonly status: string;
  readonly occurredAt: string;
  readonly deliveryId: string;
}

interface VisibleKey {
  readonly name: string;
  readonly worker: string | null;
  readonly generation: number;
  readonly wakeAtMs: number;
  readonly leasedAtMs: number;
  readonly claimed: readonly VisibleRow[];
  readonly suspects: number;
  readonly head: { readonly position: string } | null;
  readonly waiting: readonly VisibleRow[];
}

interface VisibleRow {
  readonly id: string;
  readonly state: string;
  readonly attempts: number;
  readonly replays: number;
  readonly dueAtMs: number;
}

interface VisibleMemoryInbox {
  readonly private_rows: { readonly private_rows: ReadonlyMap<string, VisibleRow> };
  readonly private_keys: {
    readonly private_byId: ReadonlyMap<number, VisibleKey>;
  };
}

export async function memoryStore(parts: typeof Parts, time: ExploredTimers): Promise<StoreUnderTest> {
  const storeTime = {
    now: () => startMs + time.nowMs,
    monotonic: () => time.nowMs,
    schedule: () => () => {},
  };
  const memory = inbox.storeOf(parts.memoryInbox({ clock: storeTime }));
  const visible = memory as unknown as VisibleMemoryInbox;
  const holders = new Map<string, ExploredProcess>();
  const keys = () => [...visible.private_keys.private_byId.values()];
  const relative = (atMs: number) =>
    Number.isFinite(atMs) && atMs > 0 ? Math.max(-1, atMs - storeTime.now()) : "-";
  return {
    quietTurns: 1,
    connect(process) {
      // Its own object: the receiver limits the calls of each connection.
      return new Proxy(memory as inbox.InboxStore<unknown>, {
        get(target, name: keyof inbox.InboxStore<unknown>) {
          if (name === "durable") return true;
          if (name === "subscribe")
            return (wake: () => void) => target.subscribe?.(() => wakeIfRunning(process, wake));
          const member: unknown = target[name];
          return typeof member === "function" ? member.bind(target) : member;
        },
      });
    },
    async crash() {},
    claimed(process, claims) {
      for (const { lease } of claims) holders.set(lease.worker, process);
    },
    heldBy: (process) =>
      keys()
        .filter(({ worker }) => worker !== null && holders.get(worker) === process)
        .map(({ name }) => name)
        .sort()
        .join(),
    leaseText: ({ keyId, generation }) => {
      const key = visible.private_keys.private_byId.get(keyId);
      return key ? `${key.name} ${key.generation - generation}` : "ended";
    },
    fingerprint: () => {
      const rows = [...visible.private_rows.private_rows.values()].map(
        ({ id, state, attempts, replays, dueAtMs }) =>
          `${id} ${state} ${attempts} ${replays} ${relative(dueAtMs)}`,
      );
      const keyTexts = keys().map(
        ({ name, worker, wakeAtMs, leasedAtMs, claimed, suspects, head, waiting }) =>
          `${name} ${worker === null} ${relative(wakeAtMs)} ${worker === null ? "" : relative(leasedAtMs)} ${claimed.map(({ id }) => id)} ${suspects} ${head?.position} ${waiting.map(({ id }) => id)}`,
      );
      return JSON.stringify([rows.sort(), keyTexts.sort()]);
    },
    rows: () => memory.list({ limit: 1_000 }),
    writeEffect: async (transaction, note) => (transaction as MemoryTransaction).apply(note),
    writeState: async (transaction, note) => (transaction as MemoryTransaction).apply(note),
    dispose() {},
  };
}

function wakeIfRunning(process: ExploredProcess, wake: () => void): void {
  if (process.state !== "running") return;
  wake();
}
