// Bugs that are put into the sources. The explorer or a simulation must find each of them.

import type * as SqliteKit from "workspace-tasks/receiver-kit/sqlite";
import { explore } from "../explorer/explore.ts";
import { explorerMutants } from "../explorer/explorer-mutants.ts";
import { loadProducts, scopeNamed } from "../explorer/scopes.ts";
import { tell } from "../explorer/story.ts";
import { type RabbitmqKit, runBrokerSimulation } from "../simulation/broker-simulation.ts";
import { endEachWrite, endings } from "../simulation/end-each-write.ts";
import { mutants, productsOf } from "../simulation/mutants.ts";
import { importPatched, type Patch } from "../simulation/patched-product.ts";
import { runSeeds } from "../simulation/run-seeds.ts";

export interface PlantedBug {
  readonly name: string;
  readonly bug: string;
  /** The counterexample; undefined when the bug is not found. */
  find(): Promise<string | undefined>;
}

const seedsPerBug = 500;

interface PatchedBug {
  readonly name: string;
  readonly bug: string;
  /** The file to load, where that is not the one of the product's users. */
  readonly entry?: string;
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

const sqliteBug: PatchedBug = {
  name: "transaction-unchecked",
  bug: "a SQLite inbox does not notice that a handler has ended its transaction",
  patches: [
    {
      find: "if (!this.#failure && !this.#connection?.isInTransaction())",
      replace: "if (this.#failure === null)",
    },
    {
      find: "this.#isBroken = true;\n    }\n    return !this.#isBroken;",
      replace: "void 0;\n    }\n    return !this.#isBroken;",
    },
    {
      find: "if (keyword) return fail(controlRejected(keyword));",
      replace: "void [keyword, controlRejected];",
    },
    {
      find: "const concerns = concernsConnection(statement);",
      replace: "const concerns = keyword === undefined && concernsConnection(statement);",
    },
    { find: "if (hasMarker) releaseMarker(transaction);", replace: "void releaseMarker;" },
  ],
};

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
  {
    name: `sqlite/${sqliteBug.name}`,
    bug: sqliteBug.bug,
    async find() {
      using broken = await importPatched<typeof SqliteKit>("receiver-kit", sqliteBug, "sqlite.ts");
      const found: string[] = [];
      for (const [name, ending] of endings) {
        const run = endEachWrite(ending, broken.module.sqliteInbox);
        await run.catch((error: Error) => found.push(`${name}: ${error.message}`));
      }
      // Each ending must be detected.
      return found.length === endings.length ? found.join("; ") : undefined;
    },
  },
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
