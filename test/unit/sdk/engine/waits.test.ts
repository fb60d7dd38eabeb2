import { describe, expect, it } from "vitest";
import type { Fetch } from "../../../../sdk/request/fetch.ts";
import { openEngine } from "../../../support/engine-fixture.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { failureOf } from "../../../support/outcome-of.ts";
import { probe } from "../../../support/probe-operations.ts";

function engineWith(respond: Fetch, options: { rateLimit?: false; timeoutMs?: number } = {}) {
  const service = createFakeService({ respond });
  return { clock: service.clock, engine: openEngine(service, options) };
}

const asking = (status: number, retryAfter: string): Fetch => {
  return async () => new Response("", { status, headers: { "retry-after": retryAfter } });
};

describe("a Retry-After that is longer than a call should wait", () => {
  it.each([
    ["61", 61_000],
    ["86400", 86_400_000],
    ["1000000000", 1_000_000_000_000],
    ["9".repeat(400), Number.MAX_SAFE_INTEGER],
  ])("of a 503 (%s) fails a query at once and says when to try again", async (retryAfter, retryAfterMs) => {
    const { engine, clock } = engineWith(asking(503, retryAfter));
    const failure = failureOf(engine.execute(probe.query, {}));
    await clock.advance(100);
    expect(await failure).toMatchObject({ code: "SERVICE_UNAVAILABLE", retryAfterMs, attempts: 1 });
    expect((await failure).message).toMatch(/asks to wait \d+ s/);
    expect(clock.pending().timers).toBe(0);
  });

  it("of a 429 fails a call at once without a rate limit", async () => {
    const { engine, clock } = engineWith(asking(429, "86400"), { rateLimit: false });
    const failure = failureOf(engine.execute(probe.mutation, {}));
    await clock.advance(100);
    expect(await failure).toMatchObject({
      code: "RATE_LIMITED",
      outcome: "rejected",
      retryAfterMs: 86_400_000,
    });
  });

  it("of a token exchange fails the calls that wait for it", async () => {
    const service = createFakeService();
    const engine = openEngine(service, { fetch: asking(503, "86400") });
    const failure = failureOf(engine.execute(probe.query, {}));
    await service.clock.advance(100);
    expect(await failure).toMatchObject({ code: "SERVICE_UNAVAILABLE", outcome: "not_sent" });
    expect((await failure).retryAfterMs).toBe(86_400_000);
  });
});

it("close() ends a call in flight after the client's timeoutMs, although the call has a longer limit", async () => {
  const { engine, clock } = engineWith(() => new Promise(() => {}), { timeoutMs: 5_000 });
  const failure = failureOf(engine.execute(probe.mutation, {}, { timeoutMs: 3_600_000 }));
  await clock.advance(100);
  let isClosed = false;
  const closing = engine.close().then(() => {
    isClosed = true;
  });
  await clock.advance(4_999);
  expect(isClosed).toBe(false);
  await clock.advance(1);
  await closing;
  expect(await failure).toMatchObject({ code: "CLIENT_CLOSED", outcome: "unknown", attempts: 1 });
  expect(clock.pending().timers).toBe(0);
});
