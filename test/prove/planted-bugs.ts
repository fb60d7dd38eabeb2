// Bugs that are put into the sources. The explorer or a simulation must find each of them.

import { explore } from "../integration/explorer/explore.ts";
import { explorerMutants } from "../integration/explorer/explorer-mutants.ts";
import { loadProducts, scopeNamed } from "../integration/explorer/scopes.ts";
import { tell } from "../integration/explorer/story.ts";
import { type RabbitmqKit, runBrokerSimulation } from "../integration/simulation/broker-simulation.ts";
import { mutants, productsOf } from "../integration/simulation/mutants.ts";
import { importPatched, type Patch } from "../integration/simulation/patched-product.ts";
import { runSeeds } from "../integration/simulation/run-seeds.ts";

export interface PlantedBug {
  readonly name: string;
  readonly bug: string;
  /** The counterexample; undefined when the bug is not found. */
  find(): Promise<string | undefined>;
}

/** As many as `npm test` takes at full depth. */
const seedsPerBug = 250;

interface PatchedBug {
  readonly name: string;
  readonly bug: string;
  readonly entry: string;
  readonly patches: readonly Patch[];
}

const brokerBugs: readonly PatchedBug[] = [
  {
    name: "acknowledged-before-stored",
    entry: "rabbitmq/rabbitmq-consumer.ts",
    bug: "a message is acknowledged before its row is stored",
    patches: [
      {
        find: "const results = await Promise.all(batch.map((message) => this.#store(channel, message)));",
        replace:
          'const results = batch.map((message) => (void this.#store(channel, message), "stored" as const));',
      },
    ],
  },
  {
    name: "batch-acknowledged",
    entry: "rabbitmq/rabbitmq-consumer.ts",
    bug: "the whole batch is acknowledged when a part of it was stored",
    patches: [
      {
        find: "this.#acknowledge(channel, batch, results);\n      this.#buffer.unshift(...failed);",
        replace:
          'this.#acknowledge(channel, batch, failed.length < batch.length ? batch.map(() => "stored") : results);',
      },
    ],
  },
  {
    name: "accepted-before-the-confirm",
    entry: "rabbitmq/rabbitmq-intake.ts",
    bug: "a delivery is accepted before the broker has confirmed its message",
    patches: [
      {
        find: "await publisher.publish({",
        replace: "await ((options) => void publisher.publish(options).catch(() => {}))({",
      },
    ],
  },
];

export const plantedBugs: readonly PlantedBug[] = [
  ...explorerMutants.map((mutant): PlantedBug => {
    return {
      name: `explorer/${mutant.name}`,
      bug: mutant.bug,
      async find() {
        using products = await loadProducts(mutant);
        const { counterexample } = await explore(await products.create(scopeNamed(mutant.scope)));
        return counterexample && tell(counterexample);
      },
    };
  }),
  ...brokerBugs.map((bug): PlantedBug => {
    return {
      name: `broker/${bug.name}`,
      bug: bug.bug,
      async find() {
        using broken = await importPatched<Partial<RabbitmqKit>>("receiver-kit", bug, bug.entry);
        for (let seed = 1; seed <= seedsPerBug; seed += 1) {
          const { violation } = await runBrokerSimulation(seed, broken.module);
          if (violation !== undefined) return `seed ${seed}: ${violation}`;
        }
        return undefined;
      },
    };
  }),
  ...mutants.map((mutant): PlantedBug => {
    return {
      name: `simulation/${mutant.name}`,
      bug: mutant.bug,
      async find() {
        using mutated = await productsOf(mutant);
        const { failed } = await runSeeds({ from: 1, count: seedsPerBug, products: mutated.products });
        if (!failed) return undefined;
        const { seed, steps, violation } = failed;
        return `seed ${seed}, step ${steps}: ${violation?.invariant}: ${violation?.message}`;
      },
    };
  }),
];
