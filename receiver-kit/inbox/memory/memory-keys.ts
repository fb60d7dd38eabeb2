import { includesSource } from "../../signature/tenant.ts";
import type { InboxHeadReference, InboxLease, InboxWaitingSource } from "../inbox.ts";
import type { MemoryRow } from "./memory-rows.ts";

interface Head {
  readonly position: string;
  readonly status: string | null;
  readonly workspaceId: string | null;
  /** When the head last advanced. */
  readonly movedAtMs: number;
}

/** An ordering key that has a head or waiting rows. */
export interface MemoryKey {
  readonly id: number;
  readonly source: string;
  readonly name: string;
  head: Head | null;
  /** In the order in which they are handled; claimed ones included. */
  readonly waiting: MemoryRow[];
  /** When the key has something to do: a row is due, or its lease expires. Infinite when nothing waits. */
  wakeAtMs: number;
  /** Who holds the lease. */
  worker: string | null;
  generation: number;
  /** When the lease was granted or extended. */
  leasedAtMs: number;
  /** Rows of the present claim that have not ended yet, in their order: the first one is being handled. */
  claimed: readonly MemoryRow[];
  /** Rows of a claim whose lease expired, which are claimed one at a time. */
  suspects: number;
}

export class MemoryKeys {
  readonly #byName = new Map<string, MemoryKey>();
  readonly #byId = new Map<number, MemoryKey>();
  readonly #waiting = new Set<MemoryKey>();
  #lastId = 0;

  get({ source, key }: InboxHeadReference): MemoryKey | undefined {
    return this.#byName.get(JSON.stringify([source, key]));
  }

  /** Adds the key if it is absent. */
  getOrAdd({ source, key: name }: InboxHeadReference): MemoryKey {
    const found = this.get({ source, key: name });
    if (found) return found;
    this.#lastId += 1;
    const key: MemoryKey = {
      ...{ id: this.#lastId, source, name, head: null },
      ...{ waiting: [], wakeAtMs: Number.POSITIVE_INFINITY, suspects: 0 },
      ...{ worker: null, generation: 0, leasedAtMs: 0, claimed: [] },
    };
    this.#byName.set(JSON.stringify([source, name]), key);
    this.#byId.set(key.id, key);
    return key;
  }

  /** `undefined` when the lease was lost. */
  leased({ keyId, worker, generation }: InboxLease): MemoryKey | undefined {
    const key = this.#byId.get(keyId);
    return key?.worker === worker && key.generation === generation ? key : undefined;
  }

  /** Keys of a source with waiting rows. */
  waiting(source: string): readonly MemoryKey[] {
    return [...this.#waiting].filter((key) => key.source === source);
  }

  addRow(row: MemoryRow, nowMs: number): void {
    const key = this.getOrAdd({ source: row.source, key: keyOf(row) });
    key.waiting.splice(key.waiting.findLastIndex((other) => isBefore(other, row)) + 1, 0, row);
    if (key.worker === null) this.wakeAt(key, Math.min(key.wakeAtMs, nowMs));
  }

  removeRow({ waiting }: MemoryKey, row: MemoryRow): void {
    const place = waiting.indexOf(row);
    if (place >= 0) waiting.splice(place, 1);
  }

  /** Sets when the key has something to do. One without waiting rows has nothing, and without a head it is deleted. */
  wakeAt(key: MemoryKey, atMs: number): void {
    const { source, name, id, waiting, head } = key;
    key.wakeAtMs = waiting.length === 0 ? Number.POSITIVE_INFINITY : atMs;
    if (waiting.length > 0) this.#waiting.add(key);
    else this.#waiting.delete(key);
    if (waiting.length > 0 || head) return;
    this.#byId.delete(id);
    this.#byName.delete(JSON.stringify([source, name]));
  }

  /** Ends the lease: the key has something to do at `wakeAtMs`. */
  release(key: MemoryKey, wakeAtMs: number): void {
    key.worker = null;
    key.claimed = [];
    this.wakeAt(key, wakeAtMs);
  }

  waitingSources(source: string, nowMs: number): readonly InboxWaitingSource[] {
    const wakeAtMs = new Map<string, number>();
    for (const key of this.#waiting)
      wakeAtMs.set(key.source, Math.min(key.wakeAtMs, wakeAtMs.get(key.source) ?? Number.POSITIVE_INFINITY));
    return [...wakeAtMs]
      .filter(([name]) => includesSource(source, name))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, atMs]) => ({ source: name, dueInMs: atMs - nowMs }));
  }

  /** How many rows wait, up to `limit`. */
  backlog(source: string, limit: number): number {
    const count = this.waiting(source).reduce((sum, { waiting }) => sum + waiting.length, 0);
    return Math.min(count, limit);
  }

  heads(source: string): readonly (Head & { readonly key: string })[] {
    const keys = [...this.#byId.values()].filter((key) => key.source === source);
    return keys.flatMap(({ name, head }) => (head ? [{ key: name, ...head }] : []));
  }

  /** Of keys without waiting rows. Returns how many it removed. */
  purgeHeads(unchangedSinceMs: number, headsMax: number): number {
    let removed = 0;
    for (const key of this.#byId.values()) {
      if (removed >= headsMax) break;
      if (!key.head || key.head.movedAtMs > unchangedSinceMs || key.waiting.length > 0) continue;
      key.head = null;
      this.wakeAt(key, key.wakeAtMs);
      removed += 1;
    }
    return removed;
  }
}

/** When the first of the keys has something to do; `undefined` without a key. */
export function firstWakeMs(keys: readonly MemoryKey[]): number | undefined {
  if (keys.length === 0) return undefined;
  return keys.reduce((first, { wakeAtMs }) => Math.min(first, wakeAtMs), Number.POSITIVE_INFINITY);
}

/** A row without a key is a key of its own; other keys are JSON arrays. */
export const keyOf = ({ orderKey, id }: MemoryRow): string => orderKey ?? `id:${id}`;

function isBefore(a: MemoryRow, b: MemoryRow): boolean {
  const [left, right] = [a.position ?? "", b.position ?? ""];
  return left === right ? a.seq < b.seq : left < right;
}
