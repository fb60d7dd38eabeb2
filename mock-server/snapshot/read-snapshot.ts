import type { z } from "zod";
import { checkSchema } from "../check-schema.ts";
import { MockServerError } from "../errors.ts";
import { isPlainObject } from "../plain-object.ts";
import type { Settings } from "../settings.ts";
import { findInconsistency } from "./consistency.ts";
import { type JsonPath, readJson } from "./read-json.ts";
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
  const isValid = typeof value === "object" && value !== null && validated.delete(value as Snapshot);
  const snapshot = isValid ? (value as Snapshot) : validateFrame(validateLists(checkEnvelope(value), []));
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

/** Read from a text and not restored yet; the next restore need not validate them again. */
const validated = new WeakSet<Snapshot>();

/**
 * Validates a document while it arrives; its text is never in memory as a whole.
 * @throws MockServerError SNAPSHOT_INVALID also for a truncated text
 */
export async function readSnapshotText(source: AsyncIterable<Uint8Array | string>): Promise<Snapshot> {
  let document: unknown;
  try {
    document = await readJson(source, {
      isWalked: (path) => path.length < 2 || (path.length === 2 && recordSchemas.has(path.join("."))),
      item: (path, index, value) => validateRecord(path.join("."), index, value),
    });
  } catch (cause) {
    if (cause instanceof RangeError) throw new MockServerError("SNAPSHOT_INVALID", cause.message, { cause });
    // Of the parser, and of the decoder for bytes that are not UTF-8.
    if (!(cause instanceof SyntaxError || cause instanceof TypeError)) throw cause;
    throw new MockServerError("SNAPSHOT_INVALID", "the snapshot is not complete JSON", { cause });
  }
  const snapshot = validateFrame(checkEnvelope(document));
  validated.add(snapshot);
  return snapshot;
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
function validateLists(value: object, path: JsonPath): object {
  const fields = Object.entries(value).map(([name, field]): [string, unknown] => {
    const list = [...path, name].join(".");
    if (Array.isArray(field) && recordSchemas.has(list)) {
      return [name, field.map((record, index) => validateRecord(list, index, record))];
    }
    return [name, path.length === 0 && isPlainObject(field) ? validateLists(field, [name]) : field];
  });
  return Object.fromEntries(fields);
}

function validateRecord(list: string, index: number, record: unknown): unknown {
  const schema = recordSchemas.get(list);
  return schema ? checked(schema, record, `${list}.${index}`) : record;
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
