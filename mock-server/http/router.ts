// One handler serves every way in: `fetch` in this process and MSW call it directly; the HTTP listener calls
// `handleGraphql` itself for the two GraphQL paths. Modules that a first GraphQL request does not need are loaded when
// first used.

import { toFetchResponse } from "../faults/fetch-response.ts";
import type { WireResponse } from "../faults/serve-with-faults.ts";
import { handleGraphql } from "../graphql/handle-graphql.ts";
import { decodeBody, type GraphqlRequest, singleHeader } from "../graphql/request-context.ts";
import { readBody } from "../read-body.ts";
import type { Router } from "../state/router.ts";
import { clocksFor, findWorld, type Located, locate } from "./find-world.ts";
import { holdRequest, type RequestHold } from "./request-hold.ts";
import type { Service } from "./service.ts";

export const uploadPath = "/api/uploads";

/** The router of a path, if it is one of the two GraphQL paths. */
export function routerAt(path: string): Router | null {
  if (path === "/graphql") return "base";
  return path === "/gateway/graphql" ? "gateway" : null;
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
  const body = decodeBody(await readBody(request, bodyBytesMax));
  const { method } = request;
  return toFetchResponse(await serveGraphql(located, router, { method, headers, body, hold }));
}

async function uploadResponse(
  located: Located,
  request: Request,
  hold: RequestHold | null,
): Promise<Response> {
  const { serveUpload } = await import("../tus/serve-upload.ts");
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
  return handleControl(request, { path, controls: service.controls, stream: service.stream });
}
