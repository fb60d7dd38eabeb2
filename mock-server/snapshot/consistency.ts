import type { Snapshot, StateLists } from "./snapshot.ts";

type Noun = Exclude<keyof StateLists, "uploadContents">;

// A record that names another one needs it: a resolver would fail on it later, far from the cause. A
// delivery may outlive its endpoint, so that name is left out.
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

/** What does not fit together in a snapshot whose records are each well-formed; `null` when all does. */
export function findInconsistency({ state, seedWorkspaceId }: Snapshot): string | null {
  const ids = new Map<Noun, Set<unknown>>();
  const idsOf = (noun: Noun) => {
    const known = ids.get(noun) ?? new Set(recordsOf(state, noun).map(({ id }) => id));
    ids.set(noun, known);
    return known;
  };
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
