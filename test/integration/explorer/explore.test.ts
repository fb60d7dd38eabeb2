import { expect, it } from "vitest";
import type { Patch } from "../simulation/bundles.ts";
import { explore, summary, tell } from "./explore.ts";
import { loadInbox, scopeNamed, scopes } from "./inbox-scope.ts";

it.each(scopes.filter(({ isLarge }) => !isLarge))(
  "no schedule of the scope $name violates an invariant",
  async (definition) => {
    using explored = await loadInbox();
    const exploration = await explore(explored.create(definition));
    if (exploration.counterexample) expect.fail(tell(exploration.counterexample));
    expect(exploration.isComplete, summary(exploration)).toBe(true);
  },
);

it("an exploration that merges states with equal fingerprints hides no end", async () => {
  using explored = await loadInbox();
  const { events } = scopeNamed("crashes");
  const scope = explored.create({ name: "tiny", events, workers: 2, budgets: {} });
  const merged = await explore(scope);
  const all = await explore(scope, { isDeduplicated: false });
  expect(all.states).toBeGreaterThan(merged.states);
  expect(all.fingerprintsOfEnds).toEqual(merged.fingerprintsOfEnds);
});

/** A bug for each invariant, and the scope that finds it. */
const controls: readonly (Patch & {
  readonly bug: string;
  readonly scope: string;
  readonly violates: string;
})[] = [
  {
    bug: "an attempt that ended with a crash is not counted",
    scope: "crashes",
    violates: "A1",
    find: "const attempts = handled.row.attempts + 1;",
    replace: "const attempts = handled.row.attempts;",
  },
  {
    bug: "a key that another worker holds can be claimed",
    scope: "two-tasks",
    violates: "K1",
    find: ".filter(({ wakeAtMs }) => wakeAtMs !== null && isDue(wakeAtMs, due))",
    replace: ".filter(() => true)",
  },
  {
    bug: "what was written with a lost lease is kept",
    scope: "pauses",
    violates: "I4",
    find: 'if (!keys.every((key) => key !== undefined)) return "lost";',
    replace: "",
  },
  {
    bug: "the head of a key is not kept",
    scope: "crashes",
    violates: "I3",
    find: 'const head = result === "done" && advance ? headAt(advance, nowMs) : null;',
    replace: "const head = null;",
  },
  {
    bug: "a delivery that comes again is stored again",
    scope: "duplicates",
    violates: "I2",
    find: "if (this.#seqs.has(name)) return undefined;",
    replace: "",
  },
  {
    bug: "a key with waiting rows is not woken after its lease",
    scope: "crashes",
    violates: "I5",
    find: "const wakeAtMs = lease.waiting === 0 ? null : lease.wakeAtMs;",
    replace: "const wakeAtMs = null;",
  },
];

it.each(controls)("control: the explorer finds that $bug", async ({ scope, violates, find, replace }) => {
  using explored = await loadInbox([{ find, replace }]);
  const { counterexample } = await explore(explored.create(scopeNamed(scope)));
  expect(counterexample?.violation).toMatch(new RegExp(`^${violates}:`));
});
