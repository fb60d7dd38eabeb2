import { getOrCreate } from "../cache.ts";
import type { StateLists } from "../state/records.ts";
import type { Snapshot } from "./snapshot-schema.ts";

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

/** The first reference that does not resolve in a snapshot of well-formed records, or `null`. */
export function findInconsistency({ state, seedWorkspaceId }: Snapshot): string | null {
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

function findWrongUpload({ uploads, uploadContents }: StateLists): string | null {
  for (const [index, { offsetBytes }] of uploads.entries()) {
    const content = uploadContents[index];
    if (content === undefined || Buffer.byteLength(content, "base64") !== offsetBytes) {
      return `state.uploadContents.${index} is not as long as its upload says`;
    }
  }
  return null;
}

const recordsOf = (state: StateLists, noun: Noun) =>
  state[noun] as readonly Readonly<Record<string, unknown>>[];
