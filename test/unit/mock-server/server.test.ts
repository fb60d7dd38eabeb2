import { describe, expect, test } from "vitest";
import { createMockServer } from "workspace-tasks/mock-server";

const callsHeldBack = 20;

describe("two mocks without a port", () => {
  test("have addresses of their own, so that clients do not take them for one service", async () => {
    await using one = await createMockServer({ listen: false });
    await using two = await createMockServer({ listen: false });
    expect(one.apiKey).toBe(two.apiKey);
    expect(one.baseUrl).not.toBe(two.baseUrl);
  });
});

describe("many answers held back at once", () => {
  test("raise no warning about listeners, and all come when their time has", async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error) => warnings.push(warning);
    process.on("warning", listen);
    await using mock = await createMockServer({
      listen: false,
      clock: "virtual",
      faults: { api: [{ chances: [{ probability: 1, fault: { kind: "delay", delayMs: 1_000 } }] }] },
    });
    const ask = async () => {
      const response = await mock.fetch("/graphql", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ query: "{ webhookEventCatalog { name } }" }),
      });
      return response.status;
    };
    const answers = Array.from({ length: callsHeldBack }, ask);
    while ((await mock.control.getClock()).pendingTimers !== callsHeldBack) await mock.clock.settle();
    await mock.clock.advance("1s");
    expect(await Promise.all(answers)).toEqual(Array.from({ length: callsHeldBack }, () => 200));
    // Warnings are emitted on the next tick.
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", listen);
    expect(warnings).toEqual([]);
  });
});
