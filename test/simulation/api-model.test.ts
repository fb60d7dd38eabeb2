import { expect, it } from "vitest";
import { runApiModel } from "./api-model.ts";

it("random calls of the API have the results that a model of the service expects", async () => {
  const made = new Set<string>();
  for (let seed = 1; seed <= 10; seed++) {
    const { calls, difference } = await runApiModel(seed, 60);
    expect(difference, `seed ${seed} after ${calls.join(", ")}`).toBeUndefined();
    for (const call of calls) made.add(call);
  }
  expect(made.size).toBe(11);
}, 120_000);
