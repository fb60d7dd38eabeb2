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
    patches: [{ find: "handled.attempts += 1;\n  const isDead", replace: "const isDead" }],
  },
  {
    name: "attempt-of-another-row",
    bug: "a crash counts for the first due row of the task, which may have arrived after the one that was being handled",
    scope: "crash",
    violates: ["A1"],
    patches: [
      {
        find: "const [handled] = claimed;",
        replace: "const handled = key.waiting.find((row) => row.dueAtMs <= nowMs);",
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
        find: "const due = keys.waiting(source).filter(({ wakeAtMs }) => isReached(wakeAtMs, options, nowMs));",
        replace: "const due = [...keys.waiting(source)];",
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
        find: "return key?.worker === worker && key.generation === generation ? key : undefined;",
        replace: "return key && worker && generation ? key : undefined;",
      },
    ],
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
