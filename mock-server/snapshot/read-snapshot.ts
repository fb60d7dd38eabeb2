import { z } from "zod";
import { faultPlanSchema } from "../faults/fault-schema.ts";
import type { FiredFault } from "../state/fault.ts";
import { findInconsistency } from "./consistency.ts";
import { stateSchema } from "./record-schemas.ts";
import { type Snapshot, snapshotFormat, snapshotVersion } from "./snapshot.ts";
import { SnapshotError } from "./snapshot-error.ts";

const envelopeSchema = z.looseObject({ format: z.literal(snapshotFormat), version: z.int() });

const errorSchema = z.strictObject({
  message: z.string(),
  code: z.string().nullable(),
  path: z.string().nullable(),
});

const journalEntrySchema = z.strictObject({
  sequence: z.int(),
  atMs: z.number(),
  router: z.enum(["base", "gateway"]),
  operationName: z.string().nullable(),
  operations: z.array(z.string()),
  query: z.string().nullable(),
  variables: z.unknown(),
  caller: z.enum(["anonymous", "user", "member", "partner"]),
  keyId: z.string().nullable(),
  userId: z.string().nullable(),
  workspaceId: z.string().nullable(),
  sourcePlatform: z.string().nullable(),
  status: z.int().nullable(),
  errors: z.array(errorSchema),
  rejection: z.string().nullable(),
  faults: z.array(z.string()),
  durationMs: z.number(),
});

// The entries of the fault log say what happened; they are kept as they are and never acted upon.
const firedSchema = z.looseObject({
  sequence: z.int(),
  atMs: z.number(),
}) as unknown as z.ZodType<FiredFault>;

const snapshotSchema: z.ZodType<Snapshot> = z.strictObject({
  format: z.literal(snapshotFormat),
  version: z.literal(snapshotVersion),
  seed: z.number(),
  nowMs: z.number(),
  seedWorkspaceId: z.string(),
  random: z.record(z.string(), z.int().nonnegative()),
  limits: z.record(z.string(), z.array(z.number())),
  faults: z.strictObject({ plan: faultPlanSchema, fired: z.array(firedSchema) }),
  journal: z.strictObject({ count: z.int().nonnegative(), entries: z.array(journalEntrySchema) }),
  state: stateSchema,
});

/**
 * Checks a document and gives it back as a snapshot.
 * @throws SnapshotError for anything that is not a whole snapshot of a version this mock knows
 */
export function readSnapshot(value: unknown): Snapshot {
  const envelope = envelopeSchema.safeParse(value);
  if (!envelope.success) throw new SnapshotError("this is not a snapshot of the mock");
  const { version } = envelope.data;
  if (version !== snapshotVersion) {
    throw new SnapshotError(
      `the snapshot has version ${version}, this mock reads version ${snapshotVersion}`,
    );
  }
  const parsed = snapshotSchema.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new SnapshotError(
      `the snapshot is damaged at ${issue?.path.join(".") || "its root"}: ${issue?.message}`,
    );
  }
  const inconsistency = findInconsistency(parsed.data);
  if (inconsistency) throw new SnapshotError(`the snapshot is damaged: ${inconsistency}`);
  return parsed.data;
}

/** Reads a snapshot from text. @throws SnapshotError also when the text was cut off */
export function parseSnapshot(text: string): Snapshot {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new SnapshotError("the snapshot is not whole: it does not end as JSON does", { cause });
  }
  return readSnapshot(value);
}
