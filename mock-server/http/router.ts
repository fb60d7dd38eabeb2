// One handler serves every way in: `fetch` in this process and MSW call it directly; the HTTP listener calls
// `handleGraphql` itself for the two GraphQL paths. Modules that a first GraphQL request does not need are loaded when
// first used.

import { readBytes } from "@workspace-tasks/kernel/bytes.ts";
import { createBoundedCache, getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import type { EventStream } from "../control/event-stream.ts";
import type { ControlContext } from "../control/route.ts";
import { toFetchResponse, type WireResponse } from "../faults.ts";
import { handleGraphql } from "../graphql/handle-graphql.ts";
import { decodeBody, type GraphqlRequest, type RequestBody, singleHeader } from "../graphql/request.ts";
import { hasKey } from "../rules/identity.ts";
import type { Router } from "../state/fault.ts";
import type { Hold, HoldOptions, VirtualClock } from "../time/virtual-clock.ts";
import { worldOfToken } from "../world/tokens.ts";
import type { WorldHolder } from "../world/world-holder.ts";

const uploadPath = "/api/uploads";

/** The router of a path, if it is one of the two GraphQL paths. */
export function routerAt(path: string): Router | null {
  if (path === "/graphql") return "base";
  return path === "/gateway/graphql" ? "gateway" : null;
}

/** One world of a running mock, as the adapters see it. */
export interface Service {
  readonly worlds: WorldHolder;
  /** The other worlds of the mock, by name; empty in one of them. */
  readonly named: ReadonlyMap<string, Service>;
  /** The world that the prefix `/w/{name}` addresses. */
  find(name: string): Service | null;
  /** What its control API works on. */
  readonly context: ControlContext;
  readonly stream: EventStream;
  /** Reads the files of the inspector, by their path below the page; none when it is not built. */
  pageFiles(): ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

/** @param hold of a request that a socket has received */
export type Handler = (request: Request, hold?: RequestHold | null) => Promise<Response>;

/** The whole service as a function of a request; rejects only when a fault cuts the connection. */
export function createHandler(main: Service): Handler {
  const serve: Handler = async (request, hold = null) => {
    const { pathname } = new URL(request.url);
    if (request.method === "HEAD" && !isUpload(locate(main, pathname)?.path ?? "")) {
      const response = await serve(new Request(request, { method: "GET" }), hold);
      await response.body?.cancel();
      return new Response(null, response);
    }
    const located = locate(main, pathname);
    if (!located) return notFound(`there is no world ${JSON.stringify(pathname.split("/")[2])}`);
    const { service, path, prefix } = located;
    const router = routerAt(path);
    if (router) return graphqlResponse(located, router, request, hold);
    if (isUpload(path)) return uploadResponse(located, request, hold);
    if (path.startsWith("/_mock/v1/")) return controlResponse(service, path, request);
    if (path === "/" && request.method === "GET") return redirect(302, `${prefix}/_mock/`);
    if (path === "/_mock" || path.startsWith("/_mock/")) return inspectorResponse(service, path, prefix);
    return notFound(
      `unknown path ${path}; the paths are /graphql, /gateway/graphql, /api/uploads, /_mock/ and /_mock/v1, also below /w/{world}`,
    );
  };
  return async (request, received) => {
    if (received) return serve(request, received);
    const { pathname } = new URL(request.url);
    const clocks = clocksFor(main, pathname, request.headers.get("authorization"));
    const hold = holdRequest(clocks, { what: `${request.method} ${pathname}`, hasSequel: true });
    return serve(request, hold).finally(hold.release);
  };
}

const isUpload = (path: string) => path === uploadPath || path.startsWith(`${uploadPath}/`);

const redirect = (status: 302 | 308, location: string) =>
  new Response(null, { status, headers: { location } });

const notFound = (message: string) =>
  Response.json({ error: { code: "NOT_FOUND", message } }, { status: 404 });

/** Serves a request of a router in the world that it is for; never rejects. */
export function serveGraphql(
  located: Located,
  router: Router,
  request: GraphqlRequest,
): Promise<WireResponse> {
  const service = findWorld(located, singleHeader(request, "authorization"), request.body);
  if (!service) return Promise.resolve(ambiguousKey);
  request.hold?.moveTo(service.worlds.current.clock);
  return handleGraphql(service.worlds.current, router, request);
}

const ambiguousMessage = "several worlds have this key; address one by its path, /w/{name}/graphql";
const ambiguousKey: WireResponse = {
  status: 400,
  headers: { "content-type": "application/json; charset=utf-8" },
  body: JSON.stringify({ errors: [{ message: ambiguousMessage, extensions: { code: "BAD_REQUEST" } }] }),
};

async function graphqlResponse(
  located: Located,
  router: Router,
  request: Request,
  hold: RequestHold | null,
): Promise<Response> {
  const headers = Object.fromEntries(request.headers);
  const { bodyBytesMax } = located.service.worlds.current.settings.bounds;
  const body = decodeBody(await readBytes(request.body, bodyBytesMax));
  const { method } = request;
  return toFetchResponse(await serveGraphql(located, router, { method, headers, body, hold }));
}

async function uploadResponse(
  located: Located,
  request: Request,
  hold: RequestHold | null,
): Promise<Response> {
  const { serveUpload } = await import("../upload-handler.ts");
  const service = findWorld(located, request.headers.get("authorization"), null) ?? located.service;
  hold?.moveTo(service.worlds.current.clock);
  return serveUpload(service.worlds.current, request, { path: `${located.prefix}${uploadPath}`, hold });
}

let inspector: ((path: string) => Response) | undefined;

async function inspectorResponse(service: Service, path: string, prefix: string): Promise<Response> {
  const { createInspector, inspectorPath } = await import("../inspector/inspector.ts");
  if (!path.startsWith(inspectorPath)) return redirect(308, `${prefix}${inspectorPath}`);
  inspector ??= createInspector(service.pageFiles());
  return inspector(path);
}

async function controlResponse(service: Service, path: string, request: Request): Promise<Response> {
  const { handleControl } = await import("../control/control-handler.ts");
  return handleControl(request, { path, context: service.context, stream: service.stream });
}

// A request is served by the world that its path names (`/w/{name}/…`). Without such a prefix its key decides: an
// access token says which world issued it, and an API key in the body of an exchange belongs to the world that has it.
// Everything else is served by the mock's own world.

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
function findWorld(
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

/** A request in flight, for which virtual time waits. */
export interface RequestHold extends Hold {
  /** The request is for the world of this clock only. */
  moveTo(clock: Clock | VirtualClock): void;
}

/**
 * Holds every virtual clock among `clocks`.
 * @param linked the same request as its client sees it; it is paused and moved together with this one, and relaxed when
 *   this one is released
 */
export function holdRequest(
  clocks: Iterable<Clock | VirtualClock>,
  options: HoldOptions,
  linked?: RequestHold | undefined,
): RequestHold {
  let holds = holdAll(clocks, options);
  let hasMoved = false;
  const all = (act: (hold: Hold) => void) => {
    for (const [, hold] of holds) act(hold);
  };
  return {
    release() {
      all((hold) => hold.release());
      linked?.relax();
    },
    pause() {
      all((hold) => hold.pause());
      linked?.pause();
    },
    resume() {
      all((hold) => hold.resume());
      linked?.resume();
    },
    relax: () => all((hold) => hold.relax()),
    moveTo(clock) {
      linked?.moveTo(clock);
      if (hasMoved || (holds.length === 1 && holds[0]?.[0] === clock)) return;
      hasMoved = true;
      const old = holds;
      holds = holdAll([clock], options);
      for (const [, hold] of old) hold.release();
    },
  };
}

function holdAll(clocks: Iterable<Clock | VirtualClock>, options: HoldOptions) {
  const holds: [Clock, Hold][] = [];
  for (const clock of clocks) if ("hold" in clock) holds.push([clock, clock.hold(options)]);
  return holds;
}
