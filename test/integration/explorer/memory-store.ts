import * as inbox from "../../../receiver-kit/inbox/inbox.ts";
import type * as Parts from "./explored-parts.ts";
import { type ExploredProcess, type ExploredTimers, startMs } from "./explored-process.ts";

/** An inbox in memory that the processes share, as the explorer sees it. */
export interface StoreUnderTest {
  connect(process: ExploredProcess): inbox.InboxStore<unknown>;
  claimed(process: ExploredProcess, claims: readonly inbox.InboxClaim[]): void;
  /** The keys whose leases a process holds. */
  heldBy(process: ExploredProcess): string;
  /** The key of a lease, and how many leases of it have followed. */
  leaseText(lease: inbox.InboxLease): string;
  /** Rows, heads and leases, with times relative to now. */
  fingerprint(): string;
  rows(): Promise<readonly inbox.InboxRowSummary[]>;
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

export function memoryStore(parts: typeof Parts, time: ExploredTimers): StoreUnderTest {
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
  };
}

function wakeIfRunning(process: ExploredProcess, wake: () => void): void {
  if (process.state !== "running") return;
  wake();
}
