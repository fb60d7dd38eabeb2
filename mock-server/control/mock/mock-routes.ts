import * as z from "zod";
import type { Snapshot } from "../../snapshot/snapshot-schema.ts";
import { deliveryStatusSchema, taskStatusSchema } from "../../state/records.ts";
import { duration, id, time } from "../contract/fields.ts";
import { defineRoute } from "../contract/route.ts";

const health = z.object({
  status: z.literal("ok"),
  version: z.string(),
  now: time,
  epoch: z.int().describe("Number of resets and restores."),
});

const overview = z.object({
  clients: z.int(),
  endpoints: z.int(),
  events: z.int(),
  tasks: z.record(taskStatusSchema, z.int()),
  deliveries: z.record(deliveryStatusSchema, z.int()),
  rejectedDeliveries: z
    .int()
    .describe("Deliveries whose last attempt failed: tried again, paused or failed."),
  requests: z.int().describe("GraphQL requests since the start or the last reset."),
  activeFaults: z.int().describe("Instructions left and probabilities of the fault plan."),
  upcoming: z
    .array(
      z.object({
        kind: z.enum(["attempt", "stage"]),
        state: z.enum(["running", "waits for a connection", "waits for an event", "scheduled"]),
        count: z.int().describe("Those with the same state, endpoint and number, or name of the stage."),
        id: id.describe("The first one's: the delivery's, or the task's whose stage ends."),
        name: z.string().describe("The first one's: the event's, or the stage's."),
        attempt: z.int().nullable().describe("Its number in the schedule; `null` for a stage."),
        endpointId: id.nullable(),
        url: z.string().nullable(),
        at: time.nullable().describe("When the first one is due, or started; `null`: it waits for another."),
      }),
    )
    .describe("At most ten lines: what runs, what waits for its turn, and the next timers, soonest first."),
  failedAttemptsLastHour: z.int().describe("In the mock's time."),
  health: z
    .array(
      z.object({
        endpointId: id,
        attempts: z.int().describe("Of the deliveries that the mock still has."),
        succeeded: z.int(),
        lastSuccessAt: time.nullable(),
        failingSince: time.nullable().describe("Its first failed attempt after the last that succeeded."),
        recent: z
          .array(z.object({ at: time, status: z.int().nullable(), error: z.string().nullable() }))
          .describe("Its last twenty attempts, oldest first."),
      }),
    )
    .describe("How each endpoint responds."),
});

const clock = z.object({
  now: time,
  mode: z.enum(["real", "virtual"]),
  pendingTimers: z.int().nullable().describe("`null` on a real clock."),
  nextTimerAt: time.nullable(),
  aheadOfRealMs: z
    .number()
    .describe(
      "The mock's time minus this computer's. A receiver with its own clock rejects deliveries that are more than its tolerance away, 300 s as a rule.",
    ),
});

const advanced = z.object({
  now: time,
  fired: z.int().describe("Timers that fired; tasks and retries may share one."),
});

const snapshot = z.looseObject({}) as unknown as z.ZodType<Snapshot, object>;

export type Overview = z.output<typeof overview>;
export type ClockView = z.output<typeof clock>;

export const mockRoutes = {
  getHealth: defineRoute("GET /health", {
    summary: "Version, time and number of resets of the mock.",
    response: health,
  }),
  getOverview: defineRoute("GET /overview", {
    summary: "Counts of everything, how each endpoint responds, what runs, and the next timers.",
    response: overview,
  }),
  getClock: defineRoute("GET /clock", { summary: "The mock's time and timers.", response: clock }),
  advanceClock: defineRoute("POST /clock/advance", {
    summary: "Advances a virtual clock; responds when everything due until then has settled.",
    input: z.strictObject({ by: duration }),
    response: advanced,
  }),
  reset: defineRoute("POST /reset", {
    summary: "Restarts from the seed: state, ids, time, rate limits, journal, faults and timers.",
  }),
  getSnapshot: defineRoute("GET /snapshot", {
    summary: "The whole state as one document.",
    response: snapshot,
  }),
  restoreSnapshot: defineRoute("PUT /snapshot", {
    summary: "Restores a snapshot, with its pending deliveries and stages.",
    // Checked in detail by the reader of snapshots, also over HTTP.
    input: z.unknown() as unknown as z.ZodType<Snapshot, object>,
  }),
};
