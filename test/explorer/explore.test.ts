import { expect, it } from "vitest";
import { type Choice, type Execution, explore, type Scope } from "./explore.ts";
import { loadProducts, scopes } from "./scopes.ts";
import { summary, tell } from "./story.ts";

/** Two processes that add 1 to a counter in two steps, reading and writing. */
function racingCounter(isAtomic: boolean): Scope {
  return {
    name: "racing counter",
    async start() {
      const story: string[] = [];
      const read: (number | undefined)[] = [undefined, undefined];
      const done = [false, false];
      let counter = 0;
      const found = (): Choice[] =>
        [0, 1]
          .filter((process) => !done[process])
          .map((process) => ({
            label: `${process} ${read[process] === undefined ? "reads" : "writes"}`,
            isFault: false,
          }));
      return {
        story,
        choices: found,
        async take(label) {
          story.push(label);
          const process = Number(label[0]);
          if (read[process] === undefined) read[process] = counter;
          if (!isAtomic && label.endsWith("reads")) return;
          counter = read[process]! + 1;
          done[process] = true;
        },
        fingerprint: () => JSON.stringify([read, done, counter]),
        violation: () => (done.every(Boolean) && counter !== 2 ? `the counter is ${counter}` : undefined),
        dispose() {},
      } satisfies Execution;
    },
  };
}

it("an exploration finds the shortest schedule of a lost update, and none where steps are atomic", async () => {
  const { counterexample } = await explore(racingCounter(false));
  expect(counterexample?.schedule).toEqual(["0 reads", "1 reads", "0 writes", "1 writes"]);
  expect(await explore(racingCounter(true))).toMatchObject({ isComplete: true, counterexample: undefined });
});

it("merging states with equal fingerprints hides no end", async () => {
  using products = await loadProducts();
  const scope = await products.create({
    name: "tiny",
    store: "memory",
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
    const exploration = await explore(await products.create(definition));
    if (exploration.counterexample) expect.fail(tell(exploration.counterexample));
    expect(exploration.isComplete, summary(exploration)).toBe(true);
  },
  120_000,
);
