import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import { checkSchema } from "../checks.ts";
import { MockServerError } from "../errors.ts";
import type { Settings } from "../settings/settings.ts";
import type { StateLists } from "../state/records.ts";
import { keyNameOf, keyOf } from "./snapshot.ts";
import { envelopeSchema, type Snapshot, snapshotSchema, snapshotVersion } from "./snapshot-schema.ts";

/**
 * Validates a parsed document.
 * @throws MockServerError SNAPSHOT_INVALID for anything but a complete snapshot of a version this mock reads
 */
export function readSnapshot(value: unknown, bounds?: RecordBounds): Snapshot {
  checkVersion(value);
  const { value: snapshot, issues } = checkSchema(snapshotSchema, value);
  if (issues) throw damaged(` at ${issues[0]?.path || "its root"}: ${issues[0]?.message}`);
  const inconsistency = findInconsistency(snapshot);
  if (inconsistency) throw damaged(`: ${inconsistency}`);
  if (bounds) checkBounds(snapshot, bounds);
  return snapshot;
}

const damaged = (what: string) => new MockServerError("SNAPSHOT_INVALID", `the snapshot is damaged${what}`);

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

function checkVersion(value: unknown): void {
  const envelope = envelopeSchema.safeParse(value);
  if (!envelope.success) throw new MockServerError("SNAPSHOT_INVALID", "this is not a snapshot of the mock");
  const { version } = envelope.data;
  if (version === snapshotVersion) return;
  throw new MockServerError(
    "SNAPSHOT_INVALID",
    `the snapshot has version ${version}, this mock reads version ${snapshotVersion}: run the release that wrote it`,
  );
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
