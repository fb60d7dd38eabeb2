// One handler serves every way in: `fetch` in this process and MSW call it directly; the HTTP listener calls
// `handleGraphql` itself for the two GraphQL paths. Modules that a first GraphQL request does not need are loaded when
// first used.

import type { WireResponse } from "../faults/serve-with-faults.ts";
import { toFetchResponse } from "../faults/write-response.ts";
import { handleGraphql } from "../graphql/handle-graphql.ts";
import { decodeBody, type GraphqlRequest, singleHeader } from "../graphql/request-context.ts";
import { readBody } from "../read-body.ts";
import type { Router } from "../state/router.ts";
import { findWorld, type Located, locate } from "./find-world.ts";
import type { Service } from "./service.ts";

export const uploadPath = "/api/uploads";

/** The router of a path, if it is one of the two GraphQL paths. */
export function routerAt(path: string): Router | null {
  if (path === "/graphql") return "base";
  return path === "/gateway/graphql" ? "gateway" : null;
}

/** The whole service as a function of a request; rejects only when a fault cuts the connection. */
export function createHandler(main: Service): (request: Request) => Promise<Response> {
  return async (request) => {
    const located = locate(main, new URL(request.url).pathname);
    if (!located) return notFound("there is no world with this name");
    const { service, path, prefix } = located;
    const router = routerAt(path);
    if (router) return graphqlResponse(located, router, request);
    if (path === uploadPath || path.startsWith(`${uploadPath}/`)) return uploadResponse(located, request);
    if (path.startsWith("/_mock/v1/")) return controlResponse(service, path, request);
    if (path === "/_mock" || path.startsWith("/_mock/")) return inspectorResponse(path, prefix);
    return notFound(
      "unknown path; the paths are /graphql, /gateway/graphql, /api/uploads, /_mock/ and /_mock/v1, also below /w/{world}",
    );
  };
}

const notFound = (message: string) =>
  Response.json({ error: { code: "NOT_FOUND", message } }, { status: 404 });

/** Serves a request of a router in the world that it is for; never rejects. */
export async function serveGraphql(
  located: Located,
  router: Router,
  request: GraphqlRequest,
): Promise<WireResponse> {
  const service = findWorld(located, singleHeader(request, "authorization"), request.body);
  return service ? handleGraphql(service.worlds.current, router, request) : ambiguousKey;
}

const ambiguousMessage = "several worlds have this key; address one by its path, /w/{name}/graphql";
const ambiguousKey: WireResponse = {
  status: 400,
  headers: { "content-type": "application/json; charset=utf-8" },
  body: JSON.stringify({ errors: [{ message: ambiguousMessage, extensions: { code: "BAD_REQUEST" } }] }),
};

async function graphqlResponse(located: Located, router: Router, request: Request): Promise<Response> {
  const headers = Object.fromEntries(request.headers);
  const { bodyBytesMax } = located.service.worlds.current.settings.bounds;
  const body = decodeBody(await readBody(request, bodyBytesMax));
  return toFetchResponse(await serveGraphql(located, router, { method: request.method, headers, body }));
}

async function uploadResponse(located: Located, request: Request): Promise<Response> {
  const { serveUpload } = await import("../tus/serve-upload.ts");
  const service = findWorld(located, request.headers.get("authorization"), null) ?? located.service;
  return serveUpload(service.worlds.current, request, `${located.prefix}${uploadPath}`);
}

let inspector: ((path: string) => Response) | undefined;

async function inspectorResponse(path: string, prefix: string): Promise<Response> {
  const { createInspector, inspectorPath } = await import("../inspector/inspector.ts");
  if (!path.startsWith(inspectorPath))
    return new Response(null, { status: 308, headers: { location: `${prefix}${inspectorPath}` } });
  inspector ??= createInspector();
  return inspector(path);
}

async function controlResponse(service: Service, path: string, request: Request): Promise<Response> {
  const { handleControl } = await import("../control/control-handler.ts");
  return handleControl(request, { path, controls: service.controls, stream: await service.stream() });
}
