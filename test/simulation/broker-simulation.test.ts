import { expect, it } from "vitest";
import { type RabbitmqKit, runBrokerSimulation } from "./broker-simulation.ts";
import { importPatched } from "./patched-product.ts";

const seeds = [1, 2, 3, 4, 5, 6, 7, 8];

it("deliveries through a broker that cuts, repeats, reorders and loses confirms are stored and take effect once", async () => {
  const injected = new Set<string>();
  for (const seed of seeds) {
    const { violation, faults } = await runBrokerSimulation(seed);
    expect(violation, `seed ${seed}`).toBeUndefined();
    for (const [fault, count] of Object.entries(faults)) if (count > 0) injected.add(fault);
  }
  expect([...injected].sort()).toEqual([
    "cut",
    "late",
    "lostConfirm",
    "nack",
    "refused",
    "reorder",
    "repeat",
  ]);
});

it.each([
  {
    name: "acknowledged-before-stored",
    bug: "a message is acknowledged before its row is stored",
    find: "const results = await Promise.all(batch.map((message) => this.#store(channel, message)));",
    replace:
      'const results = batch.map((message) => (void this.#store(channel, message), "stored" as const));',
  },
  {
    name: "accepted-before-the-confirm",
    bug: "a delivery is accepted before the broker has confirmed its message",
    find: "await publisher.publish({",
    replace: "await ((options) => void publisher.publish(options).catch(() => {}))({",
  },
])(
  "the simulation of a broker detects that $bug",
  async ({ name, find, replace }) => {
    using broken = await importPatched<RabbitmqKit>(
      "receiver-kit",
      { name, patches: [{ find, replace }] },
      "rabbitmq.ts",
    );
    const found: string[] = [];
    for (let seed = 1; seed <= 30 && found.length === 0; seed++) {
      const { violation } = await runBrokerSimulation(seed, broken.module).catch(() => ({
        violation: undefined,
      }));
      if (violation !== undefined) found.push(violation);
    }
    expect(found.join()).toMatch(/^I[146]/);
  },
  120_000,
);
