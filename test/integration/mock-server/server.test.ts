import { createMockServer } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { jsonPost } from "../../support/mock-client.ts";

const callsDelayed = 20;

describe("delay faults", () => {
  it("delay many responses at once without a warning about listeners", async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error) => warnings.push(warning);
    process.on("warning", listen);
    await using mock = await createMockServer({
      listen: false,
      clock: "virtual",
      faults: { api: [{ chances: [{ probability: 1, fault: { kind: "delay", delayMs: 1_000 } }] }] },
    });
    const call = async () => {
      const response = await mock.fetch("/graphql", jsonPost({ query: "{ webhookEventCatalog { name } }" }));
      return response.status;
    };
    const responses = Array.from({ length: callsDelayed }, call);
    while ((await mock.control.getClock()).pendingTimers !== callsDelayed) await mock.clock.settle();
    await mock.clock.advance("1s");
    expect(await Promise.all(responses)).toEqual(Array.from({ length: callsDelayed }, () => 200));
    // Warnings are emitted on the next tick.
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", listen);
    expect(warnings).toEqual([]);
  });
});
