import { ReceiverError } from "../../errors.ts";
import { isDue } from "../core/core.ts";
import type {
  Delivery,
  DueKey,
  DueLimits,
  DueTimes,
  KeyFields,
  QueuedRow,
  QueuePlace,
  Storage,
  WaitingRow,
} from "../core/storage.ts";
import type { InboxRowReference, NewInboxRow } from "../inbox.ts";

export type MemoryDelivery = Delivery & { body: Uint8Array | null };

export interface MemoryKey extends KeyFields {
  readonly source: string;
  readonly name: string;
}

/** What memory stores. */
export class MemoryStorage implements Storage {
  /** In the order of their numbers. */
  readonly deliveries = new Map<number, MemoryDelivery>();
  /** Those with a head follow each other in the order in which their heads advanced. */
  readonly keys = new Map<number, MemoryKey>();
  /** The keys of a source that have waiting rows. */
  readonly waiting = new Map<string, Set<number>>();
  readonly #seqs = new Map<string, number>();
  readonly #keyIds = new Map<string, number>();
  readonly #queues = new Map<number, QueuedRow[]>();
  readonly #rowsMax: number;
  #lastSeq = 0;
  #lastKeyId = 0;

  constructor(rowsMax: number) {
    this.#rowsMax = rowsMax;
  }

  addDelivery(
    { quarantine, ...row }: NewInboxRow,
    outcome: Delivery["outcome"],
    receivedAtMs: number,
  ): number | undefined {
    const name = nameOf(row.source, row.id);
    if (this.#seqs.has(name)) return undefined;
    if (this.deliveries.size >= this.#rowsMax) {
      throw new ReceiverError("INBOX_FULL", `memory inbox: full, expected at most ${this.#rowsMax} rows`);
    }
    this.#lastSeq += 1;
    const seq = this.#lastSeq;
    const end = { outcome, attempts: null, lastError: quarantine, leaseUntilMs: null, generation: null };
    const body = new Uint8Array(row.body);
    const times = { receivedAtMs, replayedAtMs: null, diedAtMs: null };
    this.deliveries.set(seq, { ...row, ...end, ...times, seq, body, replays: 0 });
    this.#seqs.set(name, seq);
    return seq;
  }

  findDelivery({ source, id }: InboxRowReference): MemoryDelivery | undefined {
    const seq = this.#seqs.get(nameOf(source, id));
    return seq === undefined ? undefined : this.deliveries.get(seq);
  }

  readDelivery(seq: number): MemoryDelivery | undefined {
    return this.deliveries.get(seq);
  }

  readBodies(seqs: readonly number[]): ReadonlyMap<number, Uint8Array> {
    return new Map(
      seqs.flatMap((seq) => {
        const body = this.deliveries.get(seq)?.body;
        return body ? [[seq, body]] : [];
      }),
    );
  }

  changeDelivery(seq: number, fields: Partial<Delivery>): void {
    Object.assign(this.deliveries.get(seq) ?? {}, fields);
  }

  removeDelivery({ seq, source, id }: Delivery): void {
    this.deliveries.delete(seq);
    this.#seqs.delete(nameOf(source, id));
  }

  compareBody({ source, id, body }: Pick<NewInboxRow, "source" | "id" | "body">): boolean | null {
    const first = this.findDelivery({ source, id })?.body;
    return first ? Buffer.compare(first, body) === 0 : null;
  }

  findKey(source: string, name: string): MemoryKey | undefined {
    return this.keys.get(this.#keyIds.get(nameOf(source, name)) ?? 0);
  }

  readKey(id: number): MemoryKey | undefined {
    return this.keys.get(id);
  }

  addKey(source: string, name: string, key: Omit<KeyFields, "id">): number {
    this.#lastKeyId += 1;
    const id = this.#lastKeyId;
    this.#keyIds.set(nameOf(source, name), id);
    this.#queues.set(id, []);
    this.#saveKey({ ...key, id, source, name });
    return id;
  }

  changeKey(id: number, fields: Partial<KeyFields>): void {
    const key = this.keys.get(id);
    if (!key) return;
    if (fields.movedAtMs !== undefined) this.keys.delete(id);
    this.#saveKey({ ...key, ...fields });
  }

  #saveKey(key: MemoryKey): void {
    const { id, source, waiting } = key;
    this.keys.set(id, key);
    const ids = this.waiting.get(source) ?? new Set();
    if (waiting > 0) this.waiting.set(source, ids.add(id));
    else if (ids.delete(id) && ids.size === 0) this.waiting.delete(source);
  }

  deleteKey(id: number): void {
    this.changeKey(id, { waiting: 0 });
    const key = this.keys.get(id);
    if (key) this.#keyIds.delete(nameOf(key.source, key.name));
    this.keys.delete(id);
    this.#queues.delete(id);
  }

  waitingKeys(source: string): readonly MemoryKey[] {
    return [...(this.waiting.get(source) ?? [])].flatMap((id) => this.keys.get(id) ?? []);
  }

  dueKeys(source: string, due: DueTimes, { rowsMax, rowsPerKeyMax, isStrict }: DueLimits): readonly DueKey[] {
    let room = rowsMax;
    const keys = this.waitingKeys(source)
      .filter(({ wakeAtMs }) => wakeAtMs !== null && isDue(wakeAtMs, due))
      .sort((a, b) => Number(a.wakeAtMs) - Number(b.wakeAtMs) || a.id - b.id);
    return keys.flatMap((key) => {
      if (room <= 0) return [];
      const queued = key.worker !== null ? [] : (this.#queues.get(key.id) ?? []);
      const first = isStrict ? queued : queued.filter(({ dueAtMs }) => isDue(dueAtMs, due));
      const rows = first.slice(0, Math.min(room, rowsPerKeyMax)).flatMap((row) => this.#waitingRow(row));
      room -= Math.max(1, rows.length);
      return [{ ...key, rows }];
    });
  }

  #waitingRow({ seq, dueAtMs, attempts, bodyBytes, lastError }: QueuedRow): readonly WaitingRow[] {
    const delivery = this.deliveries.get(seq);
    return delivery ? [{ ...delivery, dueAtMs, attempts, bodyBytes, lastError }] : [];
  }

  nextWakeMs(source: string, due: DueTimes): number | null {
    return least(this.waitingKeys(source).map(({ wakeAtMs }) => wakeAtMs ?? due.nowMs));
  }

  enqueue(row: QueuedRow): void {
    const rows = this.#queues.get(row.keyId) ?? [];
    rows.splice(rows.findLastIndex((other) => isBefore(other, row)) + 1, 0, row);
  }

  dequeue(place: QueuePlace): void {
    const rows = this.#queues.get(place.keyId) ?? [];
    const at = rows.findIndex(({ seq }) => seq === place.seq);
    if (at >= 0) rows.splice(at, 1);
  }

  saveQueued(row: Omit<QueuedRow, "bodyBytes">): void {
    Object.assign(this.findQueued(row) ?? {}, row);
  }

  findQueued({ keyId, seq }: QueuePlace): QueuedRow | undefined {
    return this.#queues.get(keyId)?.find((row) => row.seq === seq);
  }

  nextDueMs(keyId: number): number | null {
    return least((this.#queues.get(keyId) ?? []).map(({ dueAtMs }) => dueAtMs));
  }
}

export function least(times: readonly number[]): number | null {
  return times.length === 0 ? null : times.reduce((first, each) => Math.min(first, each));
}

const nameOf = (source: string, name: string) => JSON.stringify([source, name]);

function isBefore(a: QueuePlace, b: QueuePlace): boolean {
  return a.position === b.position ? a.seq < b.seq : a.position < b.position;
}
