import { expect, it } from "vitest";
import { explore } from "./explore.ts";
import { loadProducts, scopes } from "./scopes.ts";
import { summary, tell } from "./story.ts";

// Of other bugs of the explorer, and of the fingerprints, `npm run prove` has planted ones that it must find.
it("an exploration that merges states with equal fingerprints hides no end", async () => {
  using products = await loadProducts();
  const scope = products.create({
    name: "tiny",
    inbox: {
      events: [{ id: "e1", taskId: "task", status: "RUNNING", at: 1 }],
      workers: 1,
      budgets: { crashes: 1 },
    },
  });
  const merged = await explore(scope);
  const all = await explore(scope, { isDeduplicated: false });
  expect(all.isComplete).toBe(true);
  expect(all.states).toBeGreaterThan(merged.states);
  expect(all.fingerprintsOfEnds).toEqual(merged.fingerprintsOfEnds);
});

it.each(scopes.filter(({ isSmall }) => isSmall))(
  "no schedule of the scope $name violates an invariant",
  async (definition) => {
    using products = await loadProducts();
    const exploration = await explore(products.create(definition));
    if (exploration.counterexample) expect.fail(tell(exploration.counterexample));
    expect(exploration.isComplete, summary(exploration)).toBe(true);
  },
  120_000,
);
