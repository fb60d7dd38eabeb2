import { describe, expect, it } from "vitest";
import {
  createMockServer,
  type MockServer,
  type MockServerOptions,
  type RecordedRequest,
} from "workspace-tasks/mock-server";
import {
  type CreateClientOptions,
  createClient,
  isWorkspaceTasksError,
  type Outcome,
} from "workspace-tasks/sdk";
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

async function exchanges(mock: MockServer): Promise<number> {
  return (await journal(mock)).filter(({ operations }) =>
    operations.includes("exchangeSurfaceRefreshTokenForAccessTokens"),
  ).length;
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

describe("tokens", () => {
  it("two calls a second for an hour cost at most 25 exchanges", async () => {
    const { mock, client } = await open({ settings: { bounds: { journalEntriesMax: 20_000 } } });
    await using _ = mock;
    const calls: Promise<unknown>[] = [];
    for (let tick = 0; tick < 2 * 3_600; tick += 1) {
      calls.push(client.me());
      await mock.clock.advance(500);
    }
    await mock.clock.advance(minuteMs);
    await Promise.all(calls);
    expect(await exchanges(mock)).toBeLessThanOrEqual(25);
    expect(await journal(mock)).toHaveLength(7_200 + (await exchanges(mock)));
    expect((await journal(mock)).every(({ rejection }) => rejection === null)).toBe(true);
    await client.close();
  });

  it.each([200, 401] as const)(
    "a token revoked with 100 calls in flight costs one exchange (rejections as HTTP %i)",
    async (status) => {
      const { mock, client } = await open({ settings: { unauthenticatedStatus: status } });
      await using _ = mock;
      const warm = client.me();
      await mock.clock.advance(1_000);
      await warm;
      await mock.control.setFaults({ api: [{ operation: "me", instructions: [{ kind: "expire-token" }] }] });
      const calls = Array.from({ length: 100 }, () => client.me());
      await mock.clock.advance(3 * minuteMs);
      await Promise.all(calls);
      expect(await exchanges(mock)).toBe(2);
      await client.close();
    },
  );
});

describe("outcomes", () => {
  const chances = [
    { probability: 0.08, fault: { kind: "reset-before-effect" } },
    { probability: 0.08, fault: { kind: "reset-after-effect" } },
    { probability: 0.08, fault: { kind: "truncate" } },
    { probability: 0.08, fault: { kind: "html", status: 200 } },
    { probability: 0.08, fault: { kind: "status", status: 503 } },
    { probability: 0.04, fault: { kind: "stall" } },
    { probability: 0.04, fault: { kind: "delay", delayMs: 4_000 } },
    { probability: 0.06, fault: { kind: "graphql-error", message: "taken", code: "CONFLICT" } },
    { probability: 0.02, fault: { kind: "expire-token" } },
    { probability: 0.02, fault: { kind: "burn-quota" } },
  ] as const;

  it.each([1, 2, 3])(
    "the outcomes of mutations agree with the state of the service (seed %i)",
    async (seed) => {
      const { mock, client } = await open({ seed }, { timeoutMs: 2_000 });
      await using _ = mock;
      await mock.control.setFaults({ api: [{ operation: "createWebhookEndpoint", chances }] });
      const labels = new Map<string, Outcome | "applied">();
      const calls = Array.from({ length: 250 }, async (_, index) => {
        const description = `m${index}`;
        try {
          await client.webhooks.endpoints.create({ url: "https://receiver.example.com/hooks", description });
          labels.set(description, "applied");
        } catch (error) {
          if (!isWorkspaceTasksError(error)) throw error;
          labels.set(description, error.outcome);
        }
      });
      await mock.clock.advance(30 * minuteMs);
      await Promise.all(calls);
      await mock.control.clearFaults();

      const listing = client.webhooks.endpoints.list({ limit: 100 }).toArray();
      await mock.clock.advance(minuteMs);
      const existing = (await listing)
        .map(({ description }) => description)
        .filter((each) => /^m\d+$/.test(each));
      expect(new Set(existing).size).toBe(existing.length);
      for (const [ref, label] of labels) {
        if (label !== "unknown") expect([ref, existing.includes(ref)]).toEqual([ref, label === "applied"]);
      }
      expect(new Set(labels.values())).toEqual(new Set(["applied", "rejected", "unknown"]));
      await client.close();
    },
  );
});

describe("keys and members", () => {
  it("a key that expires is rejected, and calls fail with API_KEY_REJECTED", async () => {
    const { mock, client } = await open();
    await using _ = mock;
    const before = client.me();
    await mock.clock.advance(1_000);
    await before;
    await mock.clock.advance(91 * 24 * 60 * minuteMs);
    const failure = client.me().then(
      () => undefined,
      (error: unknown) => error,
    );
    await mock.clock.advance(minuteMs);
    expect(await failure).toMatchObject({
      code: "API_KEY_REJECTED",
      outcome: "not_sent",
    });
    await client.close();
  });

  it.each([200, 401] as const)(
    "a read-only key gets PERMISSION_DENIED for a mutation (HTTP %i)",
    async (status) => {
      const { mock, client } = await open({ settings: { unauthenticatedStatus: status } });
      await using _ = mock;
      const { apiKey } = await mock.control.createApiKey({ access: "read_only" });
      const { baseUrl, clock } = mock;
      const reader = createClient({ apiKey, baseUrl, clock, fetch: mock.fetch });
      const failure = reader.webhooks.endpoints.delete("0198c0de-0000-7000-8000-000000000000").then(
        () => undefined,
        (error: unknown) => error,
      );
      await clock.advance(minuteMs);
      expect(await failure).toMatchObject({
        code: "PERMISSION_DENIED",
        outcome: "rejected",
      });
      expect(await exchanges(mock)).toBeLessThanOrEqual(2);
      await Promise.all([reader.close(), client.close()]);
    },
  );
});

describe("over real sockets", () => {
  it.each(["truncate", "reset-after-effect", "reset-before-effect"] as const)(
    "a query is repeated after %s",
    async (kind) => {
      await using mock = await createMockServer();
      await mock.control.setFaults({ api: [{ operation: "me", instructions: [{ kind }] }] });
      const { apiKey, baseUrl } = mock;
      const client = createClient({ apiKey, baseUrl, random: () => 0 });
      const { meta } = await client.me().withMeta();
      expect(meta.attempts).toBe(2);
      await client.close();
    },
  );
});
