// One handler serves every way in: `fetch` in this process and MSW call it directly; the HTTP listener calls
// `handleGraphql` itself for the two GraphQL paths. Modules that a first GraphQL request does not need are loaded when
// first used.

import type { Controls } from "../control/control-api.ts";
import type { EventStream } from "../control/event-stream.ts";
import { toFetchResponse } from "../faults/write-response.ts";
import { handleGraphql } from "../graphql/handle-graphql.ts";
import { decodeBody } from "../graphql/request-context.ts";
import { readBody } from "../read-body.ts";
import type { Router } from "../state/router.ts";
import type { WorldHolder } from "../world/world-holder.ts";

/** One running mock, as the adapters see it. */
export interface Service {
  readonly worlds: WorldHolder;
  readonly controls: Controls;
  /** Created for the first reader. */
  stream(): Promise<EventStream>;
}

export const uploadPath = "/api/uploads";

/** The router of a path, if it is one of the two GraphQL paths. */
export function routerAt(path: string): Router | null {
  if (path === "/graphql") return "base";
  return path === "/gateway/graphql" ? "gateway" : null;
}

/** The whole service as a function of a request; rejects only when a fault cuts the connection. */
export function createHandler(service: Service): (request: Request) => Promise<Response> {
  return async (request) => {
    const { pathname } = new URL(request.url);
    const router = routerAt(pathname);
    if (router) return graphqlResponse(service, router, request);
    if (pathname === uploadPath || pathname.startsWith(`${uploadPath}/`))
      return uploadResponse(service, request);
    if (pathname.startsWith("/_mock/v1/")) return controlResponse(service, request);
    if (pathname === "/_mock" || pathname.startsWith("/_mock/")) return inspectorResponse(pathname);
    const message =
      "unknown path; the paths are /graphql, /gateway/graphql, /api/uploads, /_mock/ and /_mock/v1";
    return Response.json({ error: { code: "NOT_FOUND", message } }, { status: 404 });
  };
}

async function graphqlResponse({ worlds }: Service, router: Router, request: Request): Promise<Response> {
  const headers = Object.fromEntries(request.headers);
  const body = decodeBody(await readBody(request, worlds.current.settings.bounds.bodyBytesMax));
  return toFetchResponse(
    await handleGraphql(worlds.current, router, { method: request.method, headers, body }),
  );
}

async function uploadResponse({ worlds }: Service, request: Request): Promise<Response> {
  const { serveUpload } = await import("../tus/serve-upload.ts");
  return serveUpload(worlds.current, request, uploadPath);
}

let inspector: ((path: string) => Response) | undefined;

async function inspectorResponse(path: string): Promise<Response> {
  const { createInspector, inspectorPath } = await import("../inspector/inspector.ts");
  if (!path.startsWith(inspectorPath))
    return new Response(null, { status: 308, headers: { location: inspectorPath } });
  inspector ??= createInspector();
  return inspector(path);
}

async function controlResponse(service: Service, request: Request): Promise<Response> {
  const { handleControl } = await import("../control/control-handler.ts");
  return handleControl(request, { controls: service.controls, stream: await service.stream() });
}
