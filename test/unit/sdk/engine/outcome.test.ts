import { describe, expect, it } from "vitest";
import { isWorkspaceTasksError, type Outcome } from "../../../../sdk/errors.ts";
import { atDepth } from "../../../support/depth.ts";
import { jitteryLegs, openEngine, probe } from "../../../support/engine-fixture.ts";
import { createFakeService, type Fault, seeded, withLatency } from "../../../support/fake-service.ts";

const minuteMs = 60_000;

const faults: readonly (() => Fault | undefined)[] = [
  () => undefined,
  () => undefined,
  () => ({ type: "cut_before" }),
  () => ({ type: "cut_after" }),
  () => ({ type: "status", status: 500 }),
  () => ({ type: "status", status: 503, headers: { "retry-after": "1" } }),
  () => ({ type: "status", status: 400, body: '{"errors":[{"message":"bad"}]}' }),
  () => ({
    type: "status",
    status: 200,
    body: "<html>hello</html>",
    headers: { "content-type": "text/html" },
  }),
  () => ({ type: "status", status: 200, body: "{}" }),
  () => ({ type: "status", status: 308, headers: { location: "https://elsewhere.example" } }),
  () => ({
    type: "rejection",
    body: { data: null, errors: [{ message: "x", extensions: { code: "CONFLICT" } }] },
  }),
  () => ({ type: "status", status: 429, headers: { "retry-after": "1" } }),
];

/** Sends mutations through faults and compares the label of each failure with what the service applied. */
async function runMutations(seed: number, count: number) {
  const random = seeded(seed);
  const service = createFakeService({
    limit: 100_000,
    fault: () => faults[Math.floor(random() * faults.length)]?.(),
  });
  const { clock } = service;
  const engine = openEngine(service, {
    random,
    timeoutMs: 300,
    fetch: withLatency(service.fetch, clock, jitteryLegs(280, 1, random)),
    rateLimit: { requests: 100_000, maxQueued: 100_000 },
  });
  const labels = new Map<string, Outcome | "applied">();
  const calls = Array.from({ length: count }, (_, index) => {
    const ref = `s${seed}-m${index}`;
    return engine.execute(probe.mutation, { ref }, random() < 0.2 ? { deadlineMs: 200 } : {}).then(
      () => void labels.set(ref, "applied"),
      (error: unknown) => {
        if (!isWorkspaceTasksError(error)) throw error;
        labels.set(ref, error.outcome);
      },
    );
  });
  await clock.advance(10 * minuteMs);
  await Promise.all(calls);
  return { labels, applied: service.log.applied };
}

describe("the outcome of a mutation", () => {
  it("the outcome agrees with what the service applied, and no mutation is applied twice, under any fault", async () => {
    const seen = new Set<string>();
    for (let seed = 0; seed < atDepth(3, 10); seed += 1) {
      const { labels, applied } = await runMutations(seed, 400);
      expect(labels.size).toBe(400);
      expect(new Set(applied).size, `seed ${seed}: applied twice`).toBe(applied.length);
      const effects = new Set(applied);
      for (const [ref, label] of labels) {
        seen.add(label);
        if (label === "applied") expect(effects.has(ref), `${ref} is labelled applied`).toBe(true);
        if (label === "not_sent" || label === "rejected") {
          expect(effects.has(ref), `${ref} is labelled ${label}`).toBe(false);
        }
      }
    }
    expect(seen).toEqual(new Set(["applied", "not_sent", "rejected", "unknown"]));
  });
});
