import {
  createMockServer,
  type MockServer,
  type MockServerOptions,
  type RecordedRequest,
} from "@workspace-tasks/mock-server";
import { type CreateClientOptions, createClient } from "@workspace-tasks/sdk";
import { describe, expect, it } from "vitest";
import { busiestWindow } from "../../support/engine-fixture.ts";
import { type Legs, withLatency } from "../../support/latency.ts";

// The promises of the client, checked in the service's journal of requests.

const minuteMs = 60_000;

async function open(
  options: MockServerOptions = {},
  client: Partial<CreateClientOptions> = {},
  legs = constant(100),
) {
  const mock = await createMockServer({ listen: false, clock: "virtual", ...options });
  const { apiKey, baseUrl, gatewayUrl, clock } = mock;
  const fetch = withLatency((input, init) => mock.fetch(input, init), clock, legs);
  // Bursts take longer than the default deadline.
  const deadlineMs = 60 * minuteMs;
  return { mock, client: createClient({ apiKey, baseUrl, gatewayUrl, clock, fetch, deadlineMs, ...client }) };
}

function constant(latencyMs: number): () => Legs {
  return () => ({ forwardMs: latencyMs / 2, backwardMs: latencyMs / 2 });
}

/** Every entry of the journal, a page at a time. */
async function journal(mock: MockServer) {
  const entries: RecordedRequest[] = [];
  for (let iterator: string | undefined; ; ) {
    const page = await mock.control.listRequests({ limit: 1_000, iterator });
    entries.push(...page.data);
    if (page.iterator === null) return entries;
    iterator = page.iterator;
  }
}

async function rejected(mock: MockServer): Promise<number> {
  return (await journal(mock)).filter(({ status }) => status === 429).length;
}

describe("the rate limit", () => {
  it.each([
    [360, "sliding", 5],
    [600, "fixed", 700],
  ] as const)(
    "a burst of %i calls to a %s window at %i ms of latency gets no 429",
    async (count, window, latencyMs) => {
      const { mock, client } = await open({ settings: { rateLimit: { window } } }, {}, constant(latencyMs));
      await using _ = mock;
      await mock.clock.advance(31_000);
      const calls = Array.from({ length: count }, () => client.me());
      await mock.clock.advance((count / 120) * minuteMs);
      await Promise.all(calls);
      expect(await rejected(mock)).toBe(0);
      const times = (await journal(mock))
        .filter(({ operationName }) => operationName === "Me")
        .map(({ at }) => Date.parse(at));
      expect(times).toHaveLength(count);
      expect(busiestWindow(times)).toBeLessThanOrEqual(120);
      const windows = count / 120 - 1;
      // The first window is used within seven round trips.
      const startMs = 8 * latencyMs;
      expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeLessThan(windows * minuteMs * 1.01 + startMs);
      await client.close();
    },
  );

  it("calls to both routers share the rate limit of a workspace's key", async () => {
    const { mock, client } = await open();
    await using _ = mock;
    const calls = Array.from({ length: 100 }, () => [
      client.me(),
      client.request("query OnGateway { me { __typename } }", {}, { router: "gateway" }),
    ]).flat();
    await mock.clock.advance(2 * minuteMs);
    await Promise.all(calls);
    expect(await rejected(mock)).toBe(0);
    await client.close();
  });
});
