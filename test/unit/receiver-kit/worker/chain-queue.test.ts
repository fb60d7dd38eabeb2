import { describe, expect, it } from "vitest";
import type { InboxClaim, InboxLease } from "../../../../receiver-kit/inbox/inbox.ts";
import { type Chain, ChainQueue, toChains } from "../../../../receiver-kit/worker/chain-queue.ts";

let leases = 0;

/** A chain of rows with these positions, each with a body of three bytes. */
function chainOf(source: string, positions: readonly (string | null)[], head: string | null = null): Chain {
  leases += 1;
  const lease: InboxLease = { keyId: leases, worker: "worker-1", generation: 1 };
  const rows = positions.map((position, seq) => {
    return { lease, source, head, position, seq, body: new Uint8Array(3) } as unknown as InboxClaim;
  });
  const [chain] = toChains(rows);
  return chain!;
}

const all = () => true;

const positions = (claims: readonly InboxClaim[]) => claims.map(({ position }) => position);

describe("a chain of claimed rows", () => {
  it("claims become one chain for each lease, in their order", () => {
    const [first, second] = [chainOf("a", ["1", "2"]), chainOf("a", ["3"])];
    const chains = toChains([...first.rows, ...second.rows]);
    expect(chains.map(({ rows }) => rows)).toEqual([first.rows, second.rows]);
    expect(chains.map(({ lease }) => lease)).toEqual([first.lease, second.lease]);
  });

  it("rows are taken from the front, as many as belong together, or all at once", () => {
    const chain = chainOf("a", ["1", "2", "3", "4"]);
    expect(chain.take(5, () => false)).toEqual([]);
    expect(positions(chain.take(1, all))).toEqual(["1"]);
    expect(positions(chain.take(5, ({ position }) => position === "2"))).toEqual(["2"]);
    expect(positions(chain.takeAll())).toEqual(["3", "4"]);
    expect([chain.take(1, all), chain.rows.length]).toEqual([[], 0]);
  });

  it("rows of a batch that failed are the first again, each to be handled alone", () => {
    const chain = chainOf("a", ["1", "2", "3"]);
    const batch = chain.take(2, all);
    chain.takeApart(batch);
    expect([positions(chain.rows), [...chain.apart]]).toEqual([["1", "2", "3"], batch]);
  });

  it("the head advances to later positions only", () => {
    const chain = chainOf("a", ["3", null, "2", "5"], "1");
    const heads = chain.rows.map((row) => {
      chain.advance(row);
      return chain.head;
    });
    expect(heads).toEqual(["3", "3", "3", "5"]);
  });

  it("the first applied row is the head of a key without one", () => {
    const chain = chainOf("a", ["2.0.a"]);
    expect(chain.head).toBeNull();
    chain.advance(chain.rows[0]!);
    expect(chain.head).toBe("2.0.a");
  });
});

describe("the queue of chains", () => {
  it("the sources take turns, and the chains of one keep their order", () => {
    const queue = new ChainQueue();
    const chains = [chainOf("a", ["1"]), chainOf("a", ["2"]), chainOf("b", ["3"]), chainOf("b", ["4"])];
    for (const chain of chains) queue.add(chain);
    const served = chains.map(() => queue.next(all)?.rows[0]?.position);
    expect(served).toEqual(["1", "3", "2", "4"]);
    expect(queue.next(all)).toBeUndefined();
  });

  it("a source that may not run is passed over, and keeps its turn", () => {
    const queue = new ChainQueue();
    for (const source of ["a", "b"]) queue.add(chainOf(source, ["1"]));
    expect(queue.next((source) => source === "b")?.source).toBe("b");
    expect(queue.next((source) => source === "b")).toBeUndefined();
    expect(queue.next(all)?.source).toBe("a");
  });

  it("rows and bytes are counted while they wait", () => {
    const queue = new ChainQueue();
    const other = chainOf("a", ["1", "2", "3"]);
    for (const chain of [chainOf("a", ["1", "2"]), other, chainOf("b", ["4"])]) queue.add(chain);
    expect([queue.rows, queue.bytes, queue.rowsOf("a"), queue.rowsOf("b"), queue.rowsOf("c")]).toEqual([
      6, 18, 5, 1, 0,
    ]);
    queue.next(all);
    expect([queue.rows, queue.bytes, queue.rowsOf("a")]).toEqual([4, 12, 3]);
    queue.remove(other.lease);
    expect([queue.rows, queue.bytes, queue.rowsOf("a")]).toEqual([1, 3, 0]);
  });

  it("a chain is removed by its lease, once", () => {
    const queue = new ChainQueue();
    const [first, second, third] = [chainOf("a", ["1"]), chainOf("a", ["2"]), chainOf("b", ["3"])];
    for (const chain of [first, second, third]) queue.add(chain);
    expect(queue.remove(second.lease)).toBe(second);
    expect(queue.remove(second.lease)).toBeUndefined();
    expect(queue.remove(third.lease)).toBe(third);
    expect(queue.next(all)).toBe(first);
    expect(queue.next(all)).toBeUndefined();
  });

  it("a chain that was interrupted is the next one of its source", () => {
    const queue = new ChainQueue();
    const [first, second] = [chainOf("a", ["1"]), chainOf("a", ["2"])];
    queue.add(second);
    queue.add(first, true);
    expect([queue.nextOf("b", all), queue.nextOf("a", all), queue.next(all)]).toEqual([
      undefined,
      first,
      second,
    ]);
  });

  it("a source without chains takes no turn", () => {
    const queue = new ChainQueue();
    const [served, removed, left] = [chainOf("a", ["1"]), chainOf("b", ["2"]), chainOf("c", ["3"])];
    queue.add(served);
    expect(queue.next(all)).toBe(served);
    queue.add(removed);
    queue.add(left);
    queue.remove(removed.lease);
    expect(queue.next(all)).toBe(left);
  });

  it("clearing the queue leaves nothing", () => {
    const queue = new ChainQueue();
    for (const source of ["a", "b", "a"]) queue.add(chainOf(source, ["1"]));
    queue.clear();
    expect([queue.rows, queue.bytes, queue.next(all)]).toEqual([0, 0, undefined]);
  });
});
