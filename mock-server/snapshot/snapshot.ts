// A snapshot is the state itself, one list per noun, together with everything else that decides what happens
// next: time, the position in each random stream, the limiter, the faults, the journal. Timers are not
// stored: their times are in the records (the next attempt of a delivery, the end of a stage), and a restore
// schedules them from there.

import { ByteBuffer, fromBase64, joinBytes, toBase64 } from "@workspace-tasks/kernel/bytes.ts";
import { parseJson } from "@workspace-tasks/kernel/json.ts";
import { MockServerError } from "../errors.ts";
import { rescheduleDeliveries } from "../rules/deliveries.ts";
import { resumeImports } from "../rules/partner.ts";
import { recordProgress, resumeProgress } from "../rules/tasks.ts";
import type { StateLists } from "../state/records.ts";
import type { State, World } from "../world/world.ts";
import type { WorldHolder } from "../world/world-holder.ts";
import type { Snapshot } from "./snapshot-schema.ts";

/** Everything this world remembers. Values inside its records are shared with the world, which replaces but never changes them. */
export function takeSnapshot(world: World, seedWorkspaceId: string): Snapshot {
  return {
    format: "workspace-tasks-mock",
    version: 1,
    seed: world.random.seed,
    nowMs: world.clock.now(),
    seedWorkspaceId,
    random: world.random.position(),
    limits: world.limiter.snapshot(),
    faults: world.faults.snapshot(),
    journal: { count: world.journal.count, entries: world.journal.entries() },
    state: toLists(world),
  };
}

/** Restores a validated snapshot, whose records become the world's, and reschedules its timers. */
export const restoreWorld = (worlds: WorldHolder, snapshot: Snapshot): World =>
  worlds.restore(snapshot, (world) => {
    fromLists(world.state, snapshot.state);
    world.random.restore(snapshot.random);
    world.limiter.restore(snapshot.limits);
    world.faults.restore(snapshot.faults);
    world.journal.restore(snapshot.journal.entries, snapshot.journal.count);
    resumeProgress(world, snapshot.state.progress);
    rescheduleDeliveries(world);
    resumeImports(world);
  });

type Noun = Exclude<keyof State, "uploadContents" | "progress">;

function toLists(world: World): StateLists {
  const { uploadContents, ...maps } = world.state;
  const lists = Object.entries(maps).map(([noun, map]) => [noun, [...map.values()].map(copyRecord)]);
  const contents = [...world.state.uploads.keys()].map((uploadId) =>
    toBase64(joinBytes((uploadContents.get(uploadId) ?? []).map((block) => block.toBytes()))),
  );
  return {
    ...Object.fromEntries(lists),
    progress: recordProgress(world),
    uploadContents: contents,
  } as StateLists;
}

/** Records change, and so do the stages of a task; everything else in a record is replaced as a whole. */
function copyRecord(record: object): object {
  if (!("stages" in record)) return { ...record };
  return { ...record, stages: (record.stages as readonly object[]).map((stage) => ({ ...stage })) };
}

function fromLists(state: State, { uploadContents, progress: _, ...lists }: StateLists): void {
  for (const [noun, list] of Object.entries(lists) as [Noun, readonly object[]][]) {
    const map = state[noun] as Map<string, object>;
    for (const record of list) map.set(keyOf(noun, record), record);
  }
  for (const { eventId, attempts } of state.deliveries.values()) {
    const body = state.events.get(eventId)?.body;
    // One text instead of a copy for every attempt.
    for (const attempt of attempts) if (attempt.requestBody === body) attempt.requestBody = body;
  }
  for (const [index, { id }] of lists.uploads.entries()) {
    const block = new ByteBuffer();
    block.append(fromBase64(uploadContents[index] ?? "") ?? new Uint8Array());
    state.uploadContents.set(id, [block]);
  }
}

/** Bytes of the longest snapshot as JSON: a little less than the engine's longest string has characters. */
export const snapshotBytesMax = 512_000_000;
/** More than a snapshot has around JSON that the API accepts, and less than recursive functions can take. */
export const snapshotDepthMax = 500;

/** The snapshot as JSON. @throws MockServerError CONFLICT for one that is longer than any string */
export function snapshotText(snapshot: Snapshot): string {
  try {
    return JSON.stringify(snapshot);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    const message = "the snapshot is too long; reset the mock, or keep less in it";
    throw new MockServerError("CONFLICT", message, { cause });
  }
}

/** What a snapshot's JSON says, not validated. @throws MockServerError SNAPSHOT_INVALID for anything but JSON */
export function parseSnapshot(bytes: Uint8Array): unknown {
  try {
    return parseJson(bytes, snapshotDepthMax);
  } catch (cause) {
    const reason = cause instanceof RangeError ? cause.message : "not complete JSON in UTF-8";
    throw new MockServerError("SNAPSHOT_INVALID", `the snapshot is ${reason}`, { cause });
  }
}

/** The key of most records is their id. */
const otherKeys: { readonly [noun: string]: string } = {
  progress: "taskId",
  taskPlans: "taskType",
  catalogAdditions: "name",
};

/** The name of the field by which records of a noun are found. */
export const keyNameOf = (noun: string): string => otherKeys[noun] ?? "id";

export const keyOf = (noun: string, record: object): string =>
  (record as Readonly<Record<string, string>>)[keyNameOf(noun)] ?? "";
