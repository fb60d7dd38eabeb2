import { expect, it } from "vitest";
import { createMockServer } from "workspace-tasks/mock-server";
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

it("the model detects a service that forgets an endpoint", async () => {
  const forgetful: typeof createMockServer = async (options) => {
    const mock = await createMockServer(options);
    mock.subscribe(({ type }) => {
      if (type === "endpoint.updated")
        void mock.control.listEndpoints().then(({ data }) => mock.control.deleteEndpoint(data[0]!.id));
    });
    return mock;
  };
  const runs = await Promise.all([1, 2, 3, 4, 5].map((seed) => runApiModel(seed, 60, forgetful)));
  expect(runs.some(({ difference }) => difference !== undefined)).toBe(true);
});
