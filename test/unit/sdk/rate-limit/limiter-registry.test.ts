import { describe, expect, it } from "vitest";
import { constantLegs, createEngineFixture, createTestEngine } from "../../../support/engine-fixture.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { seeded, withLatency } from "../../../support/latency.ts";
import { probe } from "../../../support/probe-operations.ts";

const minuteMs = 60_000;

describe("clients of one process", () => {
  it("clients of one process share the rate limit of one key and address", async () => {
    const service = createFakeService();
    const { apiKey, baseUrl, clock } = service;
    const fetch = withLatency(service.fetch, clock, constantLegs(50));
    const engines = [1, 2].map((seed) =>
      createTestEngine({ apiKey, baseUrl, clock, fetch, random: seeded(seed) }),
    );
    const calls = engines.flatMap((engine) =>
      Array.from({ length: 120 }, () => engine.execute(probe.query, {})),
    );
    await clock.advance(2 * minuteMs);
    await Promise.all(calls);
    expect(service.log).toMatchObject({ accepted: 240, rejected429: 0 });
  });

  it("clients of one process have separate rate limits for different addresses", async () => {
    const a = createFakeService();
    const b = createFakeService({ clock: a.clock });
    for (const service of [a, b]) {
      const { apiKey, baseUrl, clock, fetch } = service;
      const engine = createTestEngine({ apiKey, baseUrl, clock, fetch });
      const calls = Array.from({ length: 120 }, () => engine.execute(probe.query, {}));
      await clock.advance(1_000);
      await Promise.all(calls);
    }
    expect([a.log.accepted, b.log.accepted]).toEqual([120, 120]);
  });

  it("clients of one process use the smaller limit when theirs differ", async () => {
    const service = createFakeService({ limit: 30 });
    const { apiKey, baseUrl, clock, fetch } = service;
    const [wide] = [120, 30].map((requests) =>
      createTestEngine({ apiKey, baseUrl, clock, fetch, rateLimit: { requests } }),
    );
    // A client's limit counts from its first call, which resolves the key.
    await Promise.all([wide?.execute(probe.query, {}), clock.advance(1_000)]);
    expect(wide?.rateLimitSnapshot()?.limit).toBe(120);
    const narrow = createTestEngine({ apiKey, baseUrl, clock, fetch, rateLimit: { requests: 30 } });
    await Promise.all([narrow.execute(probe.query, {}), clock.advance(1_000)]);
    expect(wide?.rateLimitSnapshot()?.limit).toBe(30);
    const calls = Array.from({ length: 58 }, () => wide?.execute(probe.query, {}));
    await clock.advance(2 * minuteMs);
    await Promise.all(calls);
    expect(service.log).toMatchObject({ accepted: 60, rejected429: 0 });
  });

  it("clients of one process count the requests of a client that was closed", async () => {
    const { service, engine } = createEngineFixture();
    const first = Array.from({ length: 120 }, () => engine.execute(probe.query, {}));
    await service.clock.advance(1_000);
    await Promise.all(first);
    await engine.close();
    const { apiKey, baseUrl, clock, fetch } = service;
    const next = createTestEngine({ apiKey, baseUrl, clock, fetch });
    const call = next.execute(probe.query, {});
    await clock.advance(30_000);
    expect(service.log).toMatchObject({ accepted: 120, rejected429: 0 });
    await clock.advance(31_000);
    await call;
    expect(service.log.accepted).toBe(121);
  });
});

describe("processes with a share of the rate limit", () => {
  it("processes stay within the limit together, four with a quarter each", async () => {
    const service = createFakeService();
    const { apiKey, baseUrl, clock } = service;
    const engines = [0, 1, 2, 3].map((seed) => {
      // A clock of its own makes it another process: limiters of different clocks are independent.
      const own = { ...clock };
      const fetch = withLatency(service.fetch, own, constantLegs(80));
      return createTestEngine({
        apiKey,
        baseUrl,
        clock: own,
        fetch,
        random: seeded(seed),
        rateLimit: { share: 0.25 },
      });
    });
    const calls = engines.flatMap((engine) =>
      Array.from({ length: 90 }, () => engine.execute(probe.query, {})),
    );
    await clock.advance(4 * minuteMs);
    await Promise.all(calls);
    expect(service.log).toMatchObject({ accepted: 360, rejected429: 0 });
  });
});
