import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import type { z } from "zod";
import { checkSchema } from "../checks/check-schema.ts";
import { MockServerError } from "../errors.ts";
import type { Settings } from "../settings/settings.ts";
import { findInconsistency } from "./consistency.ts";
import {
  envelopeSchema,
  frameSchema,
  recordSchemas,
  type Snapshot,
  snapshotVersion,
} from "./snapshot-schema.ts";

/**
 * Validates a parsed document.
 * @throws MockServerError SNAPSHOT_INVALID for anything but a complete snapshot of a version this mock reads
 */
export function readSnapshot(value: unknown, bounds?: RecordBounds): Snapshot {
  const snapshot = validateFrame(validateLists(checkEnvelope(value)));
  if (bounds) checkBounds(snapshot, bounds);
  return snapshot;
}

/** Numbers of records that the world may have. */
export type RecordBounds = Pick<Settings["bounds"], "deliveriesMax" | "tasksMax">;

function checkBounds({ state }: Snapshot, { deliveriesMax, tasksMax }: RecordBounds): void {
  for (const [noun, max] of [
    ["deliveries", deliveriesMax],
    ["tasks", tasksMax],
  ] as const) {
    if (state[noun].length <= max) continue;
    const message = `the snapshot has ${state[noun].length} ${noun}, this mock holds ${max}: settings.bounds.${noun}Max`;
    throw new MockServerError("SNAPSHOT_INVALID", message);
  }
}

function checkEnvelope(value: unknown): object {
  const envelope = envelopeSchema.safeParse(value);
  if (!envelope.success) throw new MockServerError("SNAPSHOT_INVALID", "this is not a snapshot of the mock");
  const { version } = envelope.data;
  if (version === snapshotVersion) return envelope.data;
  throw new MockServerError(
    "SNAPSHOT_INVALID",
    `the snapshot has version ${version}, this mock reads version ${snapshotVersion}: run the release that wrote it`,
  );
}

/** A copy in which the records of every list are validated. */
function validateLists(value: object, path: readonly string[] = []): object {
  const fields = Object.entries(value).map(([name, field]): [string, unknown] => {
    const list = [...path, name].join(".");
    const schema = recordSchemas.get(list);
    if (schema && Array.isArray(field)) {
      return [name, field.map((record, index) => checked(schema, record, `${list}.${index}`))];
    }
    return [name, path.length === 0 && isPlainObject(field) ? validateLists(field, [name]) : field];
  });
  return Object.fromEntries(fields);
}

function validateFrame(value: object): Snapshot {
  const snapshot = checked(frameSchema, value, "") as unknown as Snapshot;
  const inconsistency = findInconsistency(snapshot);
  if (!inconsistency) return snapshot;
  throw new MockServerError("SNAPSHOT_INVALID", `the snapshot is damaged: ${inconsistency}`);
}

function checked<Schema extends z.ZodType>(schema: Schema, value: unknown, place: string): z.output<Schema> {
  // Messages are written only for a record that is rejected.
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = checkSchema(schema, value).issues ?? [];
  const path = [place, issue?.path].filter(Boolean).join(".") || "its root";
  throw new MockServerError("SNAPSHOT_INVALID", `the snapshot is damaged at ${path}: ${issue?.message}`);
}
