// Whatever happens to an endpoint, in any order, under everything the contract permits: at the end a delivery is
// acknowledged, or its schedule is used up, or its endpoint was deleted.

import fc from "fast-check";
import { expect, it } from "vitest";
import { contractProfile } from "../../../../mock-server/faults.ts";
import {
  pauseDeliveries,
  replayDelivery,
  resumeDeliveries,
} from "../../../../mock-server/rules/deliveries.ts";
import { cancelDeliveries } from "../../../../mock-server/rules/delivery-scheduler.ts";
import { emitCustomEvent } from "../../../../mock-server/rules/events.ts";
import { defaultSettings } from "../../../../mock-server/settings/settings.ts";
import type { DeliveryRecord, WebhookEndpointRecord } from "../../../../mock-server/state/records.ts";
import { createTestWorld, responded } from "../../../support/mock-world.ts";

type Step =
  | { readonly do: "emit"; readonly subject: number }
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "pause" | "resume" | "delete" | "replay"; readonly endpoint: number };

const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("emit" as const), subject: fc.nat(3) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("wait" as const),
      ms: fc.constantFrom(0, 1, 1_000, 5_000, 400_000),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom("pause" as const, "resume"), endpoint: fc.nat(1) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom("replay" as const, "delete"), endpoint: fc.nat(1) }),
  },
);

async function run(steps: readonly Step[], statuses: readonly number[], inFlightMax: number) {
  let calls = 0;
  const fixture = createTestWorld({
    settings: { delivery: { inFlightPerEndpointMax: inFlightMax } },
    async respond() {
      const status = statuses[calls++ % statuses.length] ?? 204;
      for (let turns = calls % 3; turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
      return responded(status);
    },
  });
  const { world, clock, workspaceId } = fixture;
  world.faults.replace(contractProfile);
  const endpoints = [fixture.addEndpoint(), fixture.addEndpoint()];

  const setEnabled = (endpoint: WebhookEndpointRecord, enabled: boolean) => {
    if (!world.state.endpoints.has(endpoint.id) || endpoint.enabled === enabled) return;
    endpoint.enabled = enabled;
    (enabled ? resumeDeliveries : pauseDeliveries)(world, endpoint.id);
  };
  const take = async (step: Step) => {
    if (step.do === "emit") {
      emitCustomEvent(world, { workspaceId, name: "task.running", payload: { subject: step.subject } });
    } else if (step.do === "wait") {
      await clock.advance(step.ms);
    } else {
      const endpoint = endpoints[step.endpoint] as WebhookEndpointRecord;
      if (step.do === "pause") setEnabled(endpoint, false);
      if (step.do === "resume") setEnabled(endpoint, true);
      if (step.do === "delete" && world.state.endpoints.delete(endpoint.id)) {
        cancelDeliveries(world, endpoint.id);
      }
      const last = [...world.state.deliveries.values()].at(-1);
      if (step.do === "replay" && last && world.state.endpoints.get(last.endpointId)?.enabled) {
        void replayDelivery(world, last.id);
      }
    }
  };

  for (const step of steps) await take(step);
  for (const endpoint of endpoints) setEnabled(endpoint, true);
  await clock.advance(30 * 86_400_000);
  return { world, clock, deliveries: [...world.state.deliveries.values()] };
}

const scheduledAttempts = ({ attempts }: DeliveryRecord) =>
  attempts.filter(({ kind }) => kind === "scheduled");

const { scheduleMs } = defaultSettings.delivery;

function waitsOf(delivery: DeliveryRecord): number[] {
  const starts = scheduledAttempts(delivery).map(({ startedAtMs }) => startedAtMs);
  return starts.slice(1).map((startMs, index) => startMs - (starts[index] ?? 0));
}

const emit: Step = { do: "emit", subject: 0 };
/** Deferred deliveries are queued again, and their endpoint is disabled and enabled before their turn. */
const pausedWhileDeferred: [Step[], number[], 1 | 2 | 64] = [
  [
    ...[emit, emit, emit, emit],
    { do: "wait", ms: 1_000 },
    ...[emit, emit, emit, emit, emit, emit],
    { do: "pause", endpoint: 0 },
    emit,
  ],
  [503],
  64,
];

it("no delivery is lost, stuck, attempted early or attempted beyond its schedule, whatever happens to its endpoint", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(stepArbitrary, { minLength: 5, maxLength: 60 }),
      fc.array(fc.constantFrom(204, 500, 503), { minLength: 1, maxLength: 8 }),
      fc.constantFrom(1, 2, 64),
      async (steps, statuses, inFlightMax) => {
        const { world, clock, deliveries } = await run(steps, statuses, inFlightMax);
        for (const delivery of deliveries) {
          const { status, attempts, nextAttemptAtMs, endpointId } = delivery;
          const acknowledged = attempts.some(({ error }) => error === null);
          expect(scheduledAttempts(delivery).length).toBeLessThanOrEqual(8);
          expect(attempts.map(({ number }) => number)).toEqual(attempts.map((_, index) => index + 1));
          expect(nextAttemptAtMs).toBeNull();
          for (const [index, waitMs] of waitsOf(delivery).entries()) {
            expect(waitMs, `before attempt ${index + 2}`).toBeGreaterThanOrEqual(scheduleMs[index + 1] ?? 0);
          }
          if (acknowledged) expect(status).toBe("succeeded");
          else if (world.state.endpoints.has(endpointId)) {
            expect(status).toBe("failed");
            expect(scheduledAttempts(delivery)).toHaveLength(8);
          } else expect(["cancelled", "failed"]).toContain(status);
        }
        expect(clock.pending().timers).toBe(0);
      },
    ),
    { numRuns: 60, examples: [pausedWhileDeferred] },
  );
});
