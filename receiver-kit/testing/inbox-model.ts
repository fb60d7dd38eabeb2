import type {
  FailedAttempt,
  InboxClaim,
  InboxClaimOptions,
  InboxClaimResult,
  InboxRowState,
  NewInboxRow,
} from "../inbox/inbox.ts";

export interface ModelRow {
  readonly id: string;
  readonly seq: number;
  readonly name: string;
  readonly orderKey: string | null;
  readonly position: string | null;
  readonly bornAtMs: number;
  state: Exclude<InboxRowState, "running" | "inline">;
  /** When it is due at the earliest and at the latest: the rows of one claim whose lease has expired are due one after the other. */
  dueAtMs: number;
  dueByMs: number;
  /** Finished attempts. */
  attempts: number;
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

export type End = "settled" | "settled-stale" | "lost";

/** The naive twin of an inbox with one source: what it must return, and which rows it may return. Throws where it differs. */
export class InboxModel {
  readonly rows = new Map<string, ModelRow>();
  readonly heads = new Map<string, { position: string; movedAtMs: number }>();
  readonly #keys = new Map<string, ModelKey>();
  #seq = 0;

  insert(row: NewInboxRow, nowMs: number): "new" | "duplicate" {
    if (this.rows.has(row.id)) return "duplicate";
    const { id, orderKey, position, quarantine } = row;
    const name = orderKey ?? `id:${id}`;
    this.#seq += 1;
    this.rows.set(id, {
      ...{ id, name, orderKey, position, seq: this.#seq, bornAtMs: nowMs, dueAtMs: nowMs, dueByMs: nowMs },
      ...{ state: quarantine === null ? "pending" : "quarantined", attempts: 0 },
    });
    return "new";
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

  isOpen(id: string): boolean {
    return [...this.#keys.values()].some(({ lease }) => lease?.open.has(id));
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
    for (const name of this.#waitingNames) this.#recover(name, diedIds, options, nowMs);
    equal([...diedIds], [], "rows died without an expired lease");
    for (const [name, rows] of groupBy(claims, ({ orderKey, id }) => orderKey ?? `id:${id}`)) {
      const key = this.#key(name);
      if (key.lease) throw new Error(`${name} was claimed while it was held`);
      const ids = rows.map(({ id }) => id);
      const expected = this.#claimable(name, options, ids, nowMs).map(({ id }) => id);
      equal(ids, expected.slice(0, ids.length), `rows of ${name} in their order`);
      const isSingle = key.suspects > 0 && ids.length === 1;
      if (claims.length < rowsMax && !isSingle) equal(ids, expected, `all due rows of ${name}`);
      for (const { id, attempts, head } of rows) {
        const row = this.rows.get(id) as ModelRow;
        equal(attempts, row.attempts + 1, `attempts of ${id}`);
        equal(head, this.heads.get(name)?.position ?? null, `head of ${name}`);
      }
      const generation = (rows[0] as InboxClaim).lease.generation;
      key.lease = { worker, generation, open: new Set(ids), untilMs: nowMs + leaseMs };
    }
    if (claims.length > rowsMax) throw new Error("more rows than rowsMax");
    if (claims.length < rowsMax) this.#checkNext(options, nextInMs, nowMs);
  }

  hasExpired(nowMs: number): boolean {
    return [...this.#keys.values()].some(({ lease }) => lease && lease.untilMs <= nowMs);
  }

  #recover(name: string, died: Set<string>, { attemptsMax, retry }: InboxClaimOptions, nowMs: number): void {
    const key = this.#key(name);
    const { lease } = key;
    if (!lease || lease.untilMs > nowMs) return;
    const handled = this.waiting(name).find(({ id }) => lease.open.has(id));
    const hasDied = handled !== undefined && died.delete(handled.id);
    if (handled) {
      handled.attempts += 1;
      equal(hasDied, handled.attempts >= attemptsMax, `whether ${handled.id} died`);
      if (hasDied) handled.state = "dead";
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
    if (actual < from || actual > to) throw new Error(`next in ${nextInMs}, expected ${from} to ${to}`);
  }

  #held({ id, orderKey, lease: { worker, generation } }: InboxClaim): ModelLease | undefined {
    const { lease } = this.#key(orderKey ?? `id:${id}`);
    const isHeld = lease?.worker === worker && lease.generation === generation;
    return isHeld && lease.open.has(id) ? lease : undefined;
  }

  holds(claim: InboxClaim): boolean {
    const {
      id,
      orderKey,
      lease: { worker, generation },
    } = claim;
    const { lease } = this.#key(orderKey ?? `id:${id}`);
    return lease?.worker === worker && lease.generation === generation;
  }

  renewed(claim: InboxClaim, untilMs: number): void {
    const { lease } = this.#key(claim.orderKey ?? `id:${claim.id}`);
    if (lease) lease.untilMs = untilMs;
  }

  settle(claim: InboxClaim, nowMs: number): End {
    const lease = this.#held(claim);
    if (!lease) return "lost";
    const row = this.rows.get(claim.id) as ModelRow;
    const head = row.orderKey === null ? undefined : this.heads.get(row.orderKey);
    const isStale = head !== undefined && (row.position ?? "") <= head.position;
    row.state = isStale ? "stale" : "done";
    row.attempts = claim.attempts;
    if (!isStale && row.orderKey !== null && row.position !== null)
      this.heads.set(row.orderKey, { position: row.position, movedAtMs: nowMs });
    this.#ended(claim, lease);
    return isStale ? "settled-stale" : "settled";
  }

  fail(claim: InboxClaim, failure: FailedAttempt, nowMs: number): boolean {
    const lease = this.#held(claim);
    if (!lease) return false;
    const row = this.rows.get(claim.id) as ModelRow;
    if (failure.kind !== "release") row.attempts = claim.attempts;
    if (failure.kind === "retry") row.dueAtMs = row.dueByMs = nowMs + failure.delayMs;
    if (failure.kind === "dead") row.state = "dead";
    this.#ended(claim, lease);
    return true;
  }

  #ended(claim: InboxClaim, lease: ModelLease): void {
    const key = this.#key(claim.orderKey ?? `id:${claim.id}`);
    lease.open.delete(claim.id);
    if (lease.open.size === 0) key.lease = undefined;
    if (this.rows.get(claim.id)?.state === "pending") return;
    key.suspects = Math.max(0, key.suspects - 1);
    key.isSingle = false;
  }

  replay(id: string, nowMs: number): boolean {
    const row = this.rows.get(id);
    if (!row || row.state === "pending") return false;
    Object.assign(row, { state: "pending", attempts: 0, dueAtMs: nowMs, dueByMs: nowMs });
    return true;
  }
}

function equal(actual: unknown, expected: unknown, what: string): void {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${what}: expected ${b}, got ${a}`);
}

function groupBy<Item>(
  items: readonly Item[],
  nameOf: (item: Item) => string,
): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) groups.set(nameOf(item), [...(groups.get(nameOf(item)) ?? []), item]);
  return groups;
}
