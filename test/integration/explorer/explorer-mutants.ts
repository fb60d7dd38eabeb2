import type { Patch } from "../simulation/patched-product.ts";

/** A known bug, and the scope that must find it. */
export interface ExplorerMutant {
  readonly name: string;
  readonly bug: string;
  readonly scope: string;
  /** The invariants that it may violate first. */
  readonly violates: readonly string[];
  readonly patches: readonly Patch[];
}

export const explorerMutants: readonly ExplorerMutant[] = [
  {
    name: "lost-attempt",
    bug: "an attempt that ended with a crash is not counted",
    scope: "poison",
    violates: ["A1"],
    patches: [
      {
        find: "const attempts = handled.row.attempts + 1;",
        replace: "const attempts = handled.row.attempts;",
      },
    ],
  },
  {
    name: "attempt-of-another-row",
    bug: "a crash counts for the first due row of the task, which may have arrived after the one that was being handled",
    scope: "crash",
    violates: ["A1"],
    patches: [
      {
        find: "const handled = findHandled(storage, key);",
        replace:
          "const [row] = (storage as any).private_queues.get(keyId); const handled = row && { row, delivery: storage.readDelivery(row.seq) };",
      },
    ],
  },
  {
    name: "two-holders",
    bug: "a key that another worker holds can be claimed",
    scope: "crash",
    violates: ["K1"],
    patches: [
      {
        find: ".filter(({ wakeAtMs }) => wakeAtMs !== null && isDue(wakeAtMs, due))",
        replace: ".filter(() => true)",
      },
    ],
  },
  {
    name: "lease-without-generation",
    bug: "a lease is recognised by its key alone",
    scope: "pause",
    violates: ["A1", "I3", "I4", "K1"],
    patches: [
      {
        find: "return key?.worker === worker && key.generation === generation ? key",
        replace: "return key && worker && generation ? key",
      },
    ],
  },
  {
    name: "batch-of-lost-lease",
    bug: "a batch is committed although its leases were lost",
    scope: "batch-pause",
    violates: ["I4", "I3"],
    patches: [
      {
        find: 'if (!keys.every((key) => key !== undefined)) return "lost";',
        replace: 'if (items.length === 1 && keys[0] === undefined) return "lost";',
      },
    ],
  },
  {
    name: "batch-fails-together",
    bug: "the failure of a batch is one of each of its events",
    scope: "batch-with-bad-event",
    violates: ["D1"],
    patches: [{ find: "if (rows.length > 1 && !isOfAll", replace: "if (rows.length > 99 && !isOfAll" }],
  },
  {
    name: "batch-again-together",
    bug: "the events of a batch that failed are handled together again",
    scope: "batch-with-bad-event",
    violates: ["I5"],
    patches: [{ find: "for (const claim of claims) this.apart.add(claim);", replace: "" }],
  },
  {
    name: "head-not-compared",
    bug: "an event is applied although a newer one was applied before",
    scope: "crash",
    violates: ["I3"],
    patches: [
      { find: "return { stale: position < head,", replace: "return { stale: false," },
      {
        find: "return advance.position < head || (advance.position === head && !advance.allowSame);",
        replace: "return advance.position < head && advance.position === head;",
      },
    ],
  },
];
