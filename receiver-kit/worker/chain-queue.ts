import type { InboxClaim, InboxLease } from "../inbox/inbox.ts";

/** Claimed rows of one key that are not handled yet, in their order. They share a lease, and one is handled at a time. */
export class Chain {
  readonly lease: InboxLease;
  readonly source: string;
  /** Changed here alone. */
  readonly rows: InboxClaim[];
  /** The ordering head of the key; rows of this chain that were applied have advanced it. */
  head: string | null;
  /** Rows of a batch that failed: each is handled alone now. */
  readonly apart = new Set<InboxClaim>();

  constructor(rows: readonly [InboxClaim, ...InboxClaim[]]) {
    const [{ lease, source, head }] = rows;
    this.lease = lease;
    this.source = source;
    this.rows = [...rows];
    this.head = head;
  }

  /** Removes the first rows: as many as belong together, and `rowsMax` at most. */
  take(rowsMax: number, belongs: (claim: InboxClaim) => boolean): readonly InboxClaim[] {
    const end = this.rows.findIndex((claim) => !belongs(claim));
    return this.rows.splice(0, Math.min(rowsMax, end < 0 ? rowsMax : end));
  }

  /** The rows of a batch that was not kept are the first again. */
  takeApart(claims: readonly InboxClaim[]): void {
    this.rows.unshift(...claims);
    for (const claim of claims) this.apart.add(claim);
  }

  /** Removes all rows. */
  takeAll(): readonly InboxClaim[] {
    return this.rows.splice(0);
  }

  /** A row was applied. */
  advance({ position }: InboxClaim): void {
    if (position !== null && (this.head === null || position > this.head)) this.head = position;
  }
}

/** Chains with a row that may be handled now. Their sources take turns. */
export class ChainQueue {
  readonly #sources = new Map<string, Chain[]>();
  rows = 0;
  /** The bytes of all bodies. */
  bytes = 0;

  rowsOf(source: string): number {
    return (this.#sources.get(source) ?? []).reduce((sum, { rows }) => sum + rows.length, 0);
  }

  /** Behind the others of its source, or before them. */
  add(chain: Chain, isFirst = false): void {
    const chains = this.#sources.get(chain.source);
    if (chains && isFirst) chains.unshift(chain);
    else if (chains) chains.push(chain);
    else this.#sources.set(chain.source, [chain]);
    this.#count(chain, 1);
  }

  /** The chain that has waited longest, of the next source whose chains `mayRun`. It leaves the queue. */
  next(mayRun: (source: string) => boolean): Chain | undefined {
    for (const [source, chains] of this.#sources) {
      if (!mayRun(source)) continue;
      const chain = chains.shift();
      this.#sources.delete(source);
      if (chains.length > 0) this.#sources.set(source, chains);
      if (chain) this.#count(chain, -1);
      return chain;
    }
    return undefined;
  }

  /** The next chain of a source that `fits`. It leaves the queue. */
  nextOf(source: string, fits: (chain: Chain) => boolean): Chain | undefined {
    const chains = this.#sources.get(source) ?? [];
    const index = chains.findIndex(fits);
    const [chain] = index < 0 ? [] : chains.splice(index, 1);
    if (chain) this.#count(chain, -1);
    if (chain && chains.length === 0) this.#sources.delete(source);
    return chain;
  }

  /** Returns the chain of a lease, if it waits here. It leaves the queue. */
  remove(lease: InboxLease): Chain | undefined {
    for (const source of this.#sources.keys()) {
      const chain = this.nextOf(source, (each) => each.lease === lease);
      if (chain) return chain;
    }
    return undefined;
  }

  /** Removes all chains. */
  clear(): void {
    this.#sources.clear();
    this.rows = 0;
    this.bytes = 0;
  }

  #count({ rows }: Chain, sign: 1 | -1): void {
    this.rows += sign * rows.length;
    this.bytes += sign * rows.reduce((sum, { body }) => sum + body.byteLength, 0);
  }
}

/** Rows of a claim, in their order, by key. */
export function toChains(claims: readonly InboxClaim[]): readonly Chain[] {
  const rows = new Map<InboxLease, [InboxClaim, ...InboxClaim[]]>();
  for (const claim of claims) {
    const others = rows.get(claim.lease);
    if (others) others.push(claim);
    else rows.set(claim.lease, [claim]);
  }
  return [...rows.values()].map((chain) => new Chain(chain));
}
