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
  references: number;
}

/** @param id a hash of key and address */
export function acquireToken(id: string, scope: RegistryScope): TokenReference {
  const entries = processEntries<Entry>("tokens", scope);
  const entry = entries.get(id) ?? { shared: new SharedToken(), references: 0 };
  entries.set(id, entry);
  entry.references += 1;
  let isReleased = false;
  const release = () => {
    if (isReleased) return;
    isReleased = true;
    entry.references -= 1;
    if (entry.references === 0 && entries.get(id) === entry) entries.delete(id);
  };
  const reference = { id, shared: entry.shared, release };
  releaseWhenAbandoned(reference, release);
  return reference;
}
