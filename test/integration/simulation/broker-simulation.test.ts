import { expect, it } from "vitest";
import { runBrokerSimulation } from "./broker-simulation.ts";

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
