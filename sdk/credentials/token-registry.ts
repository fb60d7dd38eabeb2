import { processEntries, type RegistryScope, releaseWhenAbandoned } from "../call/process-registry.ts";
import { SharedToken } from "./shared-token.ts";

// One token per key and address for all clients of the process. It is forgotten with the last client that uses it.

/** A client's reference to a token that it shares with other clients. */
export interface TokenReference {
  readonly id: string;
  readonly shared: SharedToken;
  release(): void;
}

interface Entry {
  readonly shared: SharedToken;
  readonly clients: Set<object>;
  forget(): void;
}

/** @param id a hash of key and address */
export function acquireToken(id: string, scope: RegistryScope): TokenReference {
  const entries = processEntries<Entry>("tokens", scope);
  const entry = entries.get(id) ?? createEntry(id, entries);
  const client = {};
  entries.set(id, entry);
  entry.clients.add(client);
  const reference = { id, shared: entry.shared, release: () => releaseClient(entry, client) };
  releaseWhenAbandoned(reference, entry, client, releaseClient);
  return reference;
}

function createEntry(id: string, entries: Map<string, Entry>): Entry {
  return { shared: new SharedToken(), clients: new Set(), forget: () => void entries.delete(id) };
}

function releaseClient({ clients, forget }: Entry, client: object): void {
  if (clients.delete(client) && clients.size === 0) forget();
}
