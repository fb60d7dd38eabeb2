// A request is served by the world that its path names (`/w/{name}/…`). Without such a prefix its key decides: an
// access token says which world issued it, and an API key in the body of an exchange belongs to the world that has it.
// Everything else is served by the mock's own world.

import { createBoundedCache, getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import type { RequestBody } from "../graphql/request-context.ts";
import { hasKey } from "../rules/identity/api-keys.ts";
import type { VirtualClock } from "../time/virtual-clock.ts";
import { worldOfToken } from "../world/tokens.ts";
import type { Service } from "./service.ts";

export interface Located {
  readonly service: Service;
  /** The path without the prefix. */
  readonly path: string;
  /** `/w/{name}`, or empty. */
  readonly prefix: string;
}

/** `null` for the prefix of a world that does not exist. */
export function locate(service: Service, pathname: string): Located | null {
  if (!pathname.startsWith("/w/")) return { service, path: pathname, prefix: "" };
  const end = pathname.indexOf("/", 3);
  const prefix = end === -1 ? pathname : pathname.slice(0, end);
  const found = service.find(prefix.slice(3));
  return found && { service: found, path: end === -1 ? "/" : pathname.slice(end), prefix };
}

/** The world of a request, by its prefix, token or key; `null` for a key that several worlds have. */
export function findWorld(
  { service, prefix }: Located,
  authorization: string | null | undefined,
  body: RequestBody | null,
): Service | null {
  if (prefix !== "") return service;
  if (service.named.size === 0) return service;
  const token = /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
  const name = token === undefined ? null : getOrCreate(worldNames, token, worldOfToken);
  if (name !== null) return service.named.get(name) ?? service;
  const key = token === undefined && typeof body === "string" ? keyPattern.exec(body)?.[0] : undefined;
  return key === undefined ? service : worldWithKey(service, key);
}

/** The clocks that wait for a request: of its world, or of each world that it may be for. */
export function clocksFor(
  main: Service,
  pathname: string,
  authorization: string | null | undefined,
): readonly (Clock | VirtualClock)[] {
  const located = locate(main, pathname);
  // Control calls move time, or wait for it.
  if (!located || located.path === "/_mock" || located.path.startsWith("/_mock/")) return [];
  const { service, prefix } = located;
  if (prefix !== "" || service.named.size === 0) return [service.worlds.current.clock];
  if (authorization) return [(findWorld(located, authorization, null) ?? service).worlds.current.clock];
  return [service, ...service.named.values()].map(({ worlds }) => worlds.current.clock);
}

/** Equal seeds yield equal keys, so several worlds may have it; the mock's own world is then meant. */
function worldWithKey(service: Service, key: string): Service | null {
  if (hasKey(service.worlds.current, key)) return service;
  const found = [...service.named.values()].filter(({ worlds }) => hasKey(worlds.current, key));
  return found.length > 1 ? null : (found[0] ?? service);
}

const keyPattern = /\bwt[kp]_[\w-]{43}/;

// Tokens repeat with every request.
const worldNames = createBoundedCache<string, string | null>(10_000);
