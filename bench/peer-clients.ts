import { loadPeer } from "./peer.ts";

export type Fetch = typeof globalThis.fetch;
export type PeerClient = {
  readonly name: string;
  readonly call: (variables: Record<string, unknown>) => Promise<unknown>;
};

/** `throttled: false`: Octokit's own pacing, a second between calls, is switched off. */
type Create = (
  text: string,
  fetch: Fetch,
  options?: { readonly throttled?: boolean },
) => readonly PeerClient[];

export async function loadPeerClients(): Promise<Create> {
  return (await loadPeer<{ createApiClients: Create }>("api-clients")).createApiClients;
}
