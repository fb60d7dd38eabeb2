// What an inbox of one source must do, written to be read and not to be fast: lists, no queues, no counters.

import type { InboxKeyOrder, NewInboxRow } from "../../receiver-kit/inbox/inbox.ts";
import { leaseExpired } from "../../receiver-kit/inbox/row.ts";

interface Row {
  readonly id: string;
  readonly body: Uint8Array;
  key: string;
  orderKey: string | null;
  position: string | null;
  state: string;
  attempts: number;
  replays: number;
  dueAtMs: number;
  storedAtMs: number;
  error: string | null;
  hasBody: boolean;
}

export interface OracleClaim {
  readonly id: string;
  readonly attempts: number;
  readonly head: string | null;
  readonly worker: string;
  readonly key: string;
}

export interface Retention {
  readonly bodiesMs: number;
  readonly rowsMs: number;
  readonly headsMs: number;
  readonly unhandledBodiesMs: number;
}

type Columns = Pick<NewInboxRow, "orderKey" | "position">;
const settled = ["done", "stale", "discarded"];
const keyOf = (id: string, { orderKey }: Columns) => orderKey ?? `id:${id}`;

export class InboxOracle {
  nowMs = 0;
  /** In the order in which they were stored. */
  #rows: Row[] = [];
  readonly #heads = new Map<string, { readonly position: string; readonly movedAtMs: number }>();
  readonly #leases = new Map<string, { readonly worker: string; readonly id: string; untilMs: number }>();

  #row = (id: string) => this.#rows.find((row) => row.id === id);

  insert({ id, body, quarantine, ...columns }: NewInboxRow) {
    const first = this.#row(id);
    if (first)
      return {
        outcome: "duplicate",
        sameBody: first.hasBody ? Buffer.compare(first.body, body) === 0 : null,
      };
    const { orderKey, position } = columns;
    this.#rows.push({
      ...{
        id,
        body,
        orderKey,
        position,
        key: keyOf(id, columns),
        state: quarantine === null ? "pending" : "quarantined",
      },
      ...{ attempts: 0, replays: 0, dueAtMs: 0, storedAtMs: this.nowMs, error: quarantine, hasBody: true },
    });
    return { outcome: "new" };
  }

  /** Pending and running rows of a key, in their order. */
  #waiting(key: string): readonly Row[] {
    const rows = this.#rows.filter((row) => row.key === key && ["pending", "running"].includes(row.state));
    return rows.toSorted((a, b) =>
      Buffer.compare(Buffer.from(a.position ?? ""), Buffer.from(b.position ?? "")),
    );
  }

  /** Claims one row of every key that has one. */
  claim(worker: string, leaseMs: number, attemptsMax: number, keyOrder: InboxKeyOrder) {
    const died: string[] = [];
    const claims: OracleClaim[] = [];
    for (const [key, { untilMs, id }] of this.#leases) {
      if (untilMs > this.nowMs) continue;
      this.#leases.delete(key);
      const handled = this.#row(id);
      if (!handled) continue;
      Object.assign(handled, { state: "pending", attempts: handled.attempts + 1, dueAtMs: 0 });
      if (handled.attempts < attemptsMax) continue;
      Object.assign(handled, { state: "dead", error: leaseExpired });
      died.push(handled.id);
    }
    for (const key of new Set(this.#rows.map((row) => row.key))) {
      if (this.#leases.has(key)) continue;
      const rows = this.#waiting(key);
      const row = (keyOrder === "strict" ? rows.slice(0, 1) : rows).find(
        ({ dueAtMs }) => dueAtMs <= this.nowMs,
      );
      if (!row) continue;
      row.state = "running";
      this.#leases.set(key, { worker, id: row.id, untilMs: this.nowMs + leaseMs });
      const head = this.#heads.get(key)?.position ?? null;
      claims.push({ id: row.id, attempts: row.attempts + 1, head, worker, key });
    }
    return { claims: claims.toSorted((a, b) => (a.id < b.id ? -1 : 1)), died: died.toSorted() };
  }

  #held({ id, worker, key }: OracleClaim): Row | undefined {
    const lease = this.#leases.get(key);
    return lease?.worker === worker && lease.id === id ? this.#row(id) : undefined;
  }

  renew(claim: OracleClaim, leaseMs: number): boolean {
    const lease = this.#held(claim) && this.#leases.get(claim.key);
    if (lease) lease.untilMs = this.nowMs + leaseMs;
    return lease !== undefined;
  }

  commit(claim: OracleClaim, allowSame: boolean): string {
    const row = this.#held(claim);
    if (!row) return "lost";
    const head = row.orderKey === null ? undefined : this.#heads.get(row.key)?.position;
    const position = row.position ?? "";
    const isStale = head !== undefined && (position < head || (position === head && !allowSame));
    Object.assign(row, { state: isStale ? "stale" : "done", attempts: claim.attempts, dueAtMs: 0 });
    if (!isStale && row.orderKey !== null) this.#heads.set(row.key, { position, movedAtMs: this.nowMs });
    this.#leases.delete(row.key);
    return isStale ? "settled-stale" : "settled";
  }

  fail(claim: OracleClaim, kind: "retry" | "dead" | "release", delayMs: number): boolean {
    const row = this.#held(claim);
    if (!row) return false;
    this.#leases.delete(row.key);
    row.state = kind === "dead" ? "dead" : "pending";
    if (kind !== "release") Object.assign(row, { attempts: claim.attempts, error: "no" });
    if (kind !== "release") row.dueAtMs = kind === "retry" ? this.nowMs + delayMs : 0;
    return true;
  }

  replay(id: string, { orderKey, position }: Columns): boolean {
    const row = this.#row(id);
    if (!row?.hasBody || row.state === "pending" || row.state === "running") return false;
    Object.assign(row, { state: "pending", attempts: 0, replays: row.replays + 1, storedAtMs: this.nowMs });
    Object.assign(row, { orderKey, position, key: keyOf(id, { orderKey, position }) });
    return true;
  }

  discard(id: string): boolean {
    const row = this.#row(id);
    if (row?.state !== "dead" && row?.state !== "quarantined") return false;
    row.state = "discarded";
    return true;
  }

  resetHead = (key: string): boolean => this.#heads.delete(key);

  advanceHead(key: string, position: string): string {
    const head = this.#heads.get(key)?.position ?? "";
    if (position <= head) return position === head ? "same" : "stale";
    this.#heads.set(key, { position, movedAtMs: this.nowMs });
    return "newer";
  }

  purge({ bodiesMs, rowsMs, headsMs, unhandledBodiesMs }: Retention): void {
    const isOld = ({ storedAtMs }: Row, ms: number) => storedAtMs <= this.nowMs - ms;
    for (const [key, { movedAtMs }] of this.#heads) {
      if (movedAtMs <= this.nowMs - headsMs && this.#waiting(key).length === 0) this.#heads.delete(key);
    }
    this.#rows = this.#rows.filter((row) => !settled.includes(row.state) || !isOld(row, rowsMs));
    for (const row of this.#rows) {
      const isWaiting = row.state === "pending" || row.state === "running";
      if (!isWaiting && isOld(row, settled.includes(row.state) ? bodiesMs : unhandledBodiesMs))
        row.hasBody = false;
    }
  }

  state() {
    return {
      rows: this.#rows.map(({ id, state, attempts, replays, error, hasBody }) => {
        const started = state === "running" ? attempts + 1 : attempts;
        return { id, state, attempts: started, replays, error, hasBody };
      }),
      heads: [...this.#heads]
        .map(([key, { position }]) => ({ key, position }))
        .toSorted((a, b) => (a.key < b.key ? -1 : 1)),
      backlog: this.#rows.filter(({ state }) => ["pending", "running"].includes(state)).length,
    };
  }
}
