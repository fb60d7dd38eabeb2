import { describe, expect, it } from "vitest";
import { createMockServer } from "workspace-tasks/mock-server";
import { drawLatencyMs } from "../../../../mock-server/world/latency.ts";
import { createRandomStreams } from "../../../../mock-server/world/random.ts";
import { callGraphql } from "../../../support/mock-client.ts";

describe("drawLatencyMs", () => {
  const draw = (seed: number, latency: { p50Ms: number; p99Ms: number }) => {
    const random = createRandomStreams(seed);
    return Array.from({ length: 20_000 }, () => drawLatencyMs(random, latency));
  };

  it("draws times with the given median and 99th percentile", () => {
    const sorted = draw(1, { p50Ms: 40, p99Ms: 400 }).toSorted((a, b) => a - b);
    expect(sorted[10_000]).toBeGreaterThan(37);
    expect(sorted[10_000]).toBeLessThan(43);
    expect(sorted[19_800]).toBeGreaterThan(350);
    expect(sorted[19_800]).toBeLessThan(450);
  });

  it("returns the median without a higher 99th percentile", () => {
    expect(new Set(draw(1, { p50Ms: 40, p99Ms: 0 }))).toEqual(new Set([40]));
  });
});

it("a mock with latency responds to calls and uploads after it, on its clock", async () => {
  const settings = { latency: { p50Ms: 40 } };
  await using mock = await createMockServer({ listen: false, clock: "virtual", settings });
  const token = (await mock.control.createTokens()).workspaceToken;
  const responses = [
    callGraphql(mock, "{ webhookEventCatalog { name } }"),
    mock.fetch("/api/uploads/unknown", {
      method: "HEAD",
      headers: { authorization: `Bearer ${token}`, "tus-resumable": "1.0.0" },
    }),
  ];
  let done = 0;
  for (const response of responses) void response.then(() => done++);
  await expect.poll(async () => (await mock.control.getClock()).pendingTimers, { interval: 5 }).toBe(2);
  await mock.clock.advance(39);
  expect(done).toBe(0);
  await mock.clock.advance(1);
  await Promise.all(responses);
  expect((await mock.control.listRequests()).data).toMatchObject([{ durationMs: 40 }]);
});
