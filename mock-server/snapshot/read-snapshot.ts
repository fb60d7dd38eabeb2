import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import type { z } from "zod";
import { checkSchema } from "../checks.ts";
import { MockServerError } from "../errors.ts";
import type { Settings } from "../settings/settings.ts";
import type { StateLists } from "../state/records.ts";
import { keyNameOf, keyOf } from "./snapshot.ts";
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
type RecordBounds = Pick<Settings["bounds"], "deliveriesMax" | "tasksMax">;

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

type Noun = Exclude<keyof StateLists, "uploadContents">;

// A resolver would fail later, far from the cause, on a record whose reference does not resolve. A delivery
// may outlive its endpoint, so that reference is left out.
const references: readonly (readonly [noun: Noun, field: string, target: Noun])[] = [
  ["memberships", "userId", "users"],
  ["memberships", "workspaceId", "workspaces"],
  ["workspaces", "partnerId", "users"],
  ["apiKeys", "userId", "users"],
  ["apiKeys", "workspaceId", "workspaces"],
  ["partnerKeys", "partnerId", "users"],
  ["endpoints", "workspaceId", "workspaces"],
  ["connections", "workspaceId", "workspaces"],
  ["jobs", "connectionId", "connections"],
  ["jobWorks", "jobId", "jobs"],
  ["artifacts", "jobWorkId", "jobWorks"],
  ["clients", "workspaceId", "workspaces"],
  ["tasks", "workspaceId", "workspaces"],
  ["tasks", "clientId", "clients"],
  ["progress", "taskId", "tasks"],
  ["documents", "clientId", "clients"],
  ["uploads", "workspaceId", "workspaces"],
  ["events", "workspaceId", "workspaces"],
  ["deliveries", "eventId", "events"],
];

/** What is the first to contradict something else in a snapshot of well-formed records, or `null`. */
function findInconsistency(snapshot: Snapshot): string | null {
  const { state, seedWorkspaceId } = snapshot;
  const doubled = findDoubledKey(state) ?? findWrongSequence(snapshot);
  if (doubled) return doubled;
  const ids = new Map<Noun, Set<unknown>>();
  const idsOf = (of: Noun) =>
    getOrCreate(ids, of, (noun) => new Set(recordsOf(state, noun).map(({ id }) => id)));
  for (const [noun, field, target] of references) {
    for (const [index, record] of recordsOf(state, noun).entries()) {
      const named = record[field];
      if (named !== null && !idsOf(target).has(named)) return `state.${noun}.${index}.${field} names nothing`;
    }
  }
  if (!idsOf("workspaces").has(seedWorkspaceId)) return "seedWorkspaceId names nothing";
  return findWrongUpload(state);
}

function findDoubledKey(state: StateLists): string | null {
  for (const noun of Object.keys(state) as (keyof StateLists)[]) {
    if (noun === "uploadContents") continue;
    const keys = new Set<unknown>();
    for (const [index, record] of recordsOf(state, noun).entries()) {
      const key = keyOf(noun, record);
      if (keys.has(key)) return `state.${noun}.${index} has the ${keyNameOf(noun)} of an earlier one`;
      keys.add(key);
    }
  }
  return null;
}

/** Pages of the journal are found by its numbers. */
function findWrongSequence({ journal: { entries, count } }: Snapshot): string | null {
  const first = count - entries.length + 1;
  const index = entries.findIndex(({ sequence }, at) => sequence !== first + at);
  return index === -1 ? null : `journal.entries.${index}.sequence is not ${first + index}`;
}

function findWrongUpload({ uploads, uploadContents }: StateLists): string | null {
  for (const [index, { offsetBytes }] of uploads.entries()) {
    const content = uploadContents[index];
    if (content === undefined || lengthOf(content) !== offsetBytes) {
      return `state.uploadContents.${index} is not as long as its upload says`;
    }
  }
  return null;
}

/** Bytes of base64 with padding. */
const lengthOf = (base64: string) => (base64.length / 4) * 3 - (/=*$/.exec(base64)?.[0].length ?? 0);

const recordsOf = (state: StateLists, noun: Noun) =>
  state[noun] as readonly Readonly<Record<string, unknown>>[];
