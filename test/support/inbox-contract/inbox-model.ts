import { expect } from "vitest";
import {
  type FailedAttempt,
  type InboxClaim,
  type InboxClaimOptions,
  type InboxClaimResult,
  type InboxInsertResult,
  type InboxRowState,
  type InboxRowSummary,
  leaseExpiredAfter,
  type NewInboxRow,
} from "../../../receiver-kit/inbox/inbox.ts";

interface ModelRow {
  readonly id: string;
  readonly seq: number;
  name: string;
  orderKey: string | null;
  position: string | null;
  /** `null` once it is purged. */
  body: Uint8Array | null;
  /** By the elapsed time, from the last replay on. */
  bornAtMs: number;
  state: Exclude<InboxRowState, "running" | "inline">;
  /** When it is due at the earliest and at the latest: the rows of one claim whose lease has expired are due one after the other. */
  dueAtMs: number;
  dueByMs: number;
  /** Finished attempts. */
  attempts: number;
  replays: number;
  lastError: string | null;
}

interface ModelLease {
  readonly worker: string;
  readonly generation: number;
  readonly open: Set<string>;
  untilMs: number;
}

interface ModelKey {
  lease: ModelLease | undefined;
  /** Rows of a lease that expired, and that have not ended since. */
  suspects: number;
  /** Whether the next claim takes one row only: the inbox may stop that when the first of the suspects has ended. */
  isSingle: boolean;
}

type End = "settled" | "settled-stale" | "lost";

const keyName = ({ orderKey, id }: { readonly orderKey: string | null; readonly id: string }) =>
  orderKey ?? `id:${id}`;

/** The naive twin of an inbox with one source: what it must return, and which rows it may return. Throws where it differs. */
export class InboxModel {
  readonly rows = new Map<string, ModelRow>();
  elapsedMs = 0;
  readonly heads = new Map<string, { position: string; movedAtMs: number }>();
  readonly #keys = new Map<string, ModelKey>();
  #seq = 0;

  insert(row: NewInboxRow, nowMs: number): InboxInsertResult {
    const { id, orderKey, position, quarantine, body } = row;
    const first = this.rows.get(id);
    if (first)
      return { outcome: "duplicate", sameBody: first.body && Buffer.compare(first.body, body) === 0 };
    this.#seq += 1;
    this.rows.set(id, {
      id,
      name: keyName(row),
      orderKey,
      position,
      seq: this.#seq,
      body,
      bornAtMs: this.elapsedMs,
      dueAtMs: nowMs,
      dueByMs: nowMs,
      state: quarantine === null ? "pending" : "quarantined",
      lastError: quarantine,
      attempts: 0,
      replays: 0,
    });
    return { outcome: "new" };
  }

  #key(name: string): ModelKey {
    const key = this.#keys.get(name) ?? { lease: undefined, suspects: 0, isSingle: false };
    this.#keys.set(name, key);
    return key;
  }

  /** Waiting rows of a key, in their order. */
  waiting(name: string): readonly ModelRow[] {
    const rows = [...this.rows.values()].filter((row) => row.name === name && row.state === "pending");
    return rows.sort((a, b) => {
      const [left, right] = [a.position ?? "", b.position ?? ""];
      return left === right ? a.seq - b.seq : left < right ? -1 : 1;
    });
  }

  get #waitingNames(): ReadonlySet<string> {
    const waiting = [...this.rows.values()].filter(({ state }) => state === "pending");
    return new Set(waiting.map(({ name }) => name));
  }

  #isOpen(id: string): boolean {
    return [...this.#keys.values()].some(({ lease }) => lease?.open.has(id));
  }

  openCount(): number {
    return [...this.rows.keys()].filter((id) => this.#isOpen(id)).length;
  }

  visibleRows() {
    return [...this.rows.values()].map((row) =>
      this.visible({ ...row, bodyBytes: row.body?.length ?? null }),
    );
  }

  /** What of a row is compared. Of one that a worker has, only that it waits. */
  visible(row: Pick<InboxRowSummary, "id" | "state" | "attempts" | "replays" | "lastError" | "bodyBytes">) {
    const { id, state, attempts, replays, lastError, bodyBytes } = row;
    const waits = state === "pending" || state === "running";
    return {
      id,
      replays,
      bodyBytes,
      state: waits ? "waits" : state,
      ...(!this.#isOpen(id) && { attempts, lastError }),
    };
  }

  /** @param claimed of the rows that may be due, those that are */
  #claimable(
    name: string,
    { rowsPerKeyMax, keyOrder }: InboxClaimOptions,
    claimed: readonly string[],
    nowMs: number,
  ): readonly ModelRow[] {
    const rows = this.waiting(name);
    const isDue = ({ id, dueAtMs, dueByMs }: ModelRow) =>
      dueByMs <= nowMs || (dueAtMs <= nowMs && claimed.includes(id));
    const notDue = rows.findIndex((row) => !isDue(row));
    const due = keyOrder === "latest" ? rows.filter(isDue) : rows.slice(0, notDue < 0 ? rows.length : notDue);
    return due.slice(0, this.#key(name).isSingle ? 1 : rowsPerKeyMax);
  }

  claimed(options: InboxClaimOptions, { claims, died, nextInMs }: InboxClaimResult, nowMs: number): void {
    const { rowsMax, worker, leaseMs } = options;
    const diedIds = new Set(died.map(({ id }) => id));
    const byKey = groupBy(claims, keyName);
    for (const name of this.#waitingNames) {
      if (this.#isExpired(name, nowMs)) this.#recover(name, diedIds, options, nowMs);
    }
    expect([...diedIds], "rows that died without an expired lease").toEqual([]);
    for (const [name, rows] of byKey) {
      const key = this.#key(name);
      expect(key.lease, `the lease of ${name}, which was claimed`).toBeUndefined();
      const ids = rows.map(({ id }) => id);
      const expected = this.#claimable(name, options, ids, nowMs).map(({ id }) => id);
      expect(ids, `rows of ${name} in their order`).toEqual(expected.slice(0, ids.length));
      const mayBeFewer = key.suspects > 0 && ids.length === 1;
      if (claims.length < rowsMax && !mayBeFewer) expect(ids, `due rows of ${name}`).toEqual(expected);
      for (const { id, attempts, head, body } of rows) {
        const row = this.rows.get(id);
        expect(attempts, `attempts of ${id}`).toBe((row?.attempts ?? 0) + 1);
        expect(head, `head of ${name}`).toBe(this.heads.get(name)?.position ?? null);
        expect(Buffer.from(body).equals(row?.body ?? Buffer.alloc(0)), `body of ${id}`).toBe(true);
      }
      const generation = (rows[0] as InboxClaim).lease.generation;
      key.lease = { worker, generation, open: new Set(ids), untilMs: nowMs + leaseMs };
    }
    expect(claims.length, "claimed rows").toBeLessThanOrEqual(rowsMax);
    // With 0 the worker claims again at once: a claim that looks for rows of a few keys may find less than there are.
    const mayClaimAgain = nextInMs === 0 && claims.length > 0;
    if (claims.length < rowsMax && !mayClaimAgain) this.#checkNext(options, nextInMs, nowMs);
  }

  #isExpired(name: string, nowMs: number): boolean {
    const { lease } = this.#key(name);
    return lease !== undefined && lease.untilMs <= nowMs;
  }

  hasExpired(nowMs: number): boolean {
    return [...this.#keys.keys()].some((name) => this.#isExpired(name, nowMs));
  }

  #recover(name: string, died: Set<string>, { attemptsMax, retry }: InboxClaimOptions, nowMs: number): void {
    const key = this.#key(name);
    const { lease } = key;
    if (!lease) return;
    const handled = this.waiting(name).find(({ id }) => lease.open.has(id));
    const hasDied = handled !== undefined && died.delete(handled.id);
    if (handled) {
      handled.attempts += 1;
      expect(hasDied, `whether ${handled.id} died`).toBe(handled.attempts >= attemptsMax);
      if (hasDied) Object.assign(handled, { state: "dead", lastError: leaseExpiredAfter(handled.lastError) });
      Object.assign(handled, { dueAtMs: nowMs, dueByMs: nowMs + retry.delayMsMax });
    }
    key.lease = undefined;
    const open = [...lease.open].filter((id) => this.rows.get(id)?.state === "pending");
    Object.assign(key, { suspects: open.length, isSingle: open.length > 0 && !hasDied });
  }

  /** The leases of this claim may be included. */
  #checkNext({ worker, keyOrder, rowsMax }: InboxClaimOptions, nextInMs: number | null, nowMs: number): void {
    const timeOf = (name: string, time: "dueAtMs" | "dueByMs") => {
      const { lease } = this.#key(name);
      if (lease) return lease.untilMs;
      const rows = this.waiting(name);
      const due = keyOrder === "strict" ? rows.slice(0, 1) : rows;
      return Math.min(...due.map((row) => row[time]));
    };
    const names = [...this.#waitingNames];
    const earliest = (some: readonly string[], time: "dueAtMs" | "dueByMs") =>
      Math.min(...some.map((name) => timeOf(name, time))) - nowMs;
    const others = names.filter((name) => this.#key(name).lease?.worker !== worker);
    const actual = nextInMs ?? Number.POSITIVE_INFINITY;
    // The claim may have found as many keys as it may take, and none of them had a due row.
    if (actual === 0 && names.length >= rowsMax) return;
    const [from, to] = [earliest(names, "dueAtMs"), Math.max(0, earliest(others, "dueByMs"))];
    expect(actual, "time until the next row is due").toBeGreaterThanOrEqual(from);
    expect(actual, "time until the next row is due").toBeLessThanOrEqual(to);
  }

  #lease(claim: InboxClaim): ModelLease | undefined {
    const { lease } = this.#key(keyName(claim));
    const { worker, generation } = claim.lease;
    return lease?.worker === worker && lease.generation === generation ? lease : undefined;
  }

  #held(claim: InboxClaim): ModelLease | undefined {
    const lease = this.#lease(claim);
    return lease?.open.has(claim.id) ? lease : undefined;
  }

  holds(claim: InboxClaim): boolean {
    return this.#lease(claim) !== undefined;
  }

  renewed(claim: InboxClaim, untilMs: number): void {
    const lease = this.#lease(claim);
    if (lease) lease.untilMs = untilMs;
  }

  settle(claim: InboxClaim, allowSame: boolean): End {
    const lease = this.#held(claim);
    const row = this.rows.get(claim.id);
    if (!lease || !row) return "lost";
    const head = row.orderKey === null ? undefined : this.heads.get(row.orderKey)?.position;
    const position = row.position ?? "";
    const isStale = head !== undefined && (position < head || (position === head && !allowSame));
    Object.assign(row, { state: isStale ? "stale" : "done", attempts: claim.attempts });
    if (!isStale && row.orderKey !== null) this.#moveHead(row.orderKey, position);
    this.#ended(claim, lease);
    return isStale ? "settled-stale" : "settled";
  }

  fail(claim: InboxClaim, failure: FailedAttempt, nowMs: number): boolean {
    const lease = this.#held(claim);
    const row = this.rows.get(claim.id);
    if (!lease || !row) return false;
    if (failure.kind !== "release") {
      const isCounted = failure.kind === "dead" || failure.counts;
      Object.assign(row, { attempts: claim.attempts - (isCounted ? 0 : 1), lastError: failure.error });
    }
    if (failure.kind === "retry") row.dueAtMs = row.dueByMs = nowMs + failure.delayMs;
    if (failure.kind === "dead") row.state = "dead";
    this.#ended(claim, lease);
    return true;
  }

  #ended(claim: InboxClaim, lease: ModelLease): void {
    const key = this.#key(keyName(claim));
    lease.open.delete(claim.id);
    if (lease.open.size === 0) key.lease = undefined;
    if (this.rows.get(claim.id)?.state === "pending") return;
    key.suspects = Math.max(0, key.suspects - 1);
    key.isSingle = false;
  }

  replay(columns: Pick<NewInboxRow, "id" | "orderKey" | "position">, nowMs: number): boolean {
    const row = this.rows.get(columns.id);
    if (!row?.body || row.state === "pending") return false;
    const { orderKey, position } = columns;
    Object.assign(row, { orderKey, position, name: keyName(columns), bornAtMs: this.elapsedMs });
    Object.assign(row, { state: "pending", attempts: 0, dueAtMs: nowMs, dueByMs: nowMs });
    row.replays += 1;
    return true;
  }

  discard(id: string): boolean {
    const row = this.rows.get(id);
    if (row?.state !== "dead" && row?.state !== "quarantined") return false;
    row.state = "discarded";
    return true;
  }

  #moveHead(key: string, position: string): void {
    this.heads.set(key, { position, movedAtMs: this.elapsedMs });
  }

  advanceHead(key: string, position: string): "newer" | "same" | "stale" {
    const head = this.heads.get(key)?.position ?? "";
    if (position <= head) return position === head ? "same" : "stale";
    this.#moveHead(key, position);
    return "newer";
  }
}

function groupBy<Item>(
  items: readonly Item[],
  nameOf: (item: Item) => string,
): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) groups.set(nameOf(item), [...(groups.get(nameOf(item)) ?? []), item]);
  return groups;
}
