import type { Delivery, QueuedRow } from "../../../receiver-kit/inbox/core/storage.ts";
import * as inbox from "../../../receiver-kit/inbox/inbox.ts";
import type { MemoryKey } from "../../../receiver-kit/inbox/memory/memory-storage.ts";
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

interface VisibleMemoryInbox {
  readonly private_storage: {
    readonly deliveries: ReadonlyMap<number, Delivery>;
    readonly keys: ReadonlyMap<number, MemoryKey>;
    readonly private_queues: ReadonlyMap<number, readonly QueuedRow[]>;
  };
}

export function memoryStore(parts: typeof Parts, time: ExploredTimers): StoreUnderTest {
  const storeTime = {
    now: () => startMs + time.nowMs,
    monotonic: () => time.nowMs,
    schedule: () => () => {},
  };
  const memory = inbox.storeOf(parts.memoryInbox({ clock: storeTime }));
  const { private_storage: stored } = memory as unknown as VisibleMemoryInbox;
  const holders = new Map<string, ExploredProcess>();
  const keys = () => [...stored.keys.values()];
  const relative = (atMs: number | null) =>
    atMs !== null && atMs > 0 ? Math.max(-1, atMs - storeTime.now()) : "-";
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
      const key = stored.keys.get(keyId);
      return key ? `${key.name} ${key.generation - generation}` : "ended";
    },
    fingerprint: () => {
      const rows = [...stored.deliveries.values()].map(
        ({ id, outcome, attempts, replays }) => `${id} ${outcome} ${attempts} ${replays}`,
      );
      const queued = [...stored.private_queues.values()].flatMap((queue) =>
        queue.map(({ keyId, seq, attempts, dueAtMs }) => `${keyId} ${seq} ${attempts} ${relative(dueAtMs)}`),
      );
      const keyTexts = keys().map(
        ({ name, worker, wakeAtMs, claimed, suspects, position, waiting }) =>
          `${name} ${worker === null} ${relative(wakeAtMs)} ${claimed} ${suspects} ${position} ${waiting}`,
      );
      return JSON.stringify([rows.sort(), queued.sort(), keyTexts.sort()]);
    },
    rows: () => memory.list({ limit: 1_000 }),
  };
}

function wakeIfRunning(process: ExploredProcess, wake: () => void): void {
  if (process.state !== "running") return;
  wake();
}
