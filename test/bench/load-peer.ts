import { join } from "node:path";
import { pathToFileURL } from "node:url";

export type Fetch = typeof globalThis.fetch;

/** `throttled: false` switches off Octokit's own pacing of one call per second. */
export type CreatePeerClients = (
  text: string,
  fetch: Fetch,
  options?: { readonly throttled?: boolean | undefined },
) => readonly { name: string; call(variables: Record<string, unknown>): Promise<unknown> }[];

/**
 * Loads a file of `peers/`. Not an import statement: the packages that those files import are installed by
 * `npm run bench` only, and the rest of the project is type-checked without them.
 */
export function loadPeer<Module>(name: string): Promise<Module> {
  return import(pathToFileURL(join(import.meta.dirname, "peers", `${name}.ts`)).href) as Promise<Module>;
}

export async function loadPeerClients(): Promise<CreatePeerClients> {
  return (await loadPeer<{ createApiClients: CreatePeerClients }>("api-clients")).createApiClients;
}
