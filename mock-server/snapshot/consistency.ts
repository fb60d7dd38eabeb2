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

/** The first record that refers to one that the snapshot lacks, or `null`. */
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
  return idsOf("workspaces").has(seedWorkspaceId) ? null : "seedWorkspaceId names nothing";
}

const recordsOf = (state: StateLists, noun: Noun) =>
  state[noun] as readonly Readonly<Record<string, unknown>>[];
