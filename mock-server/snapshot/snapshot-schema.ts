import * as z from "zod";
import { type FaultPlan, type FiredFault, faultPlanSchema, type Immutable } from "../state/fault.ts";
import { atMs, journalEntrySchema, type StateLists, stateSchema } from "../state/records.ts";
import { timeMsMax, timeMsMin } from "../time/duration.ts";

export const snapshotVersion = 1;

export const envelopeSchema = z.looseObject({ format: z.literal("workspace-tasks-mock"), version: z.int() });

const plan: z.ZodType<FaultPlan> = faultPlanSchema;

// The entries of the fault log report what happened; they are kept as they are and never acted upon.
const fired = z.looseObject({ sequence: z.int(), atMs }) as unknown as z.ZodType<FiredFault>;

export const snapshotSchema = z.strictObject({
  format: envelopeSchema.shape.format,
  version: z.literal(snapshotVersion),
  seed: z.number(),
  nowMs: z.number().min(timeMsMin).max(timeMsMax),
  seedWorkspaceId: z.string(),
  /** The position of each random stream. */
  random: z.record(z.string(), z.int().nonnegative()),
  /** Times of the counted requests per key, oldest first. */
  limits: z.record(z.string(), z.array(atMs)),
  faults: z.strictObject({
    plan,
    fired: z.array(fired),
    /** How often each request has been made for which a fault was drawn. */
    requests: z.record(z.string(), z.int().nonnegative()),
  }),
  journal: z.strictObject({ count: z.int().nonnegative(), entries: z.array(journalEntrySchema) }),
  state: stateSchema,
});

/** Everything that a mock remembers, as plain JSON. */
export type Snapshot = Immutable<Omit<z.infer<typeof snapshotSchema>, "state">> & {
  readonly state: StateLists;
};
