import { isUtf8 } from "node:buffer";
import type { Admin } from "../control/admin.ts";
import type { EventStream } from "../control/event-stream.ts";
import { toFetchResponse } from "../faults/write-response.ts";
import { handleGraphql } from "../graphql/handle-graphql.ts";
import type { RequestBody } from "../graphql/request-context.ts";
import type { Router } from "../state/router.ts";
import type { WorldHolder } from "../world/world-holder.ts";

// One handler serves every way in: `fetch` in this process and MSW call it as it is, the HTTP adapter
// takes the shorter way to `handleGraphql` for the two GraphQL paths. What a first GraphQL request does
// not need is loaded when first asked for.

/** One running mock, as the adapters see it. */
export type Service = {
  readonly worlds: WorldHolder;
  readonly admin: Admin;
  /** Host names besides the loopback ones that the control API answers to. */
  readonly hostsAllowed: readonly string[];
  /** Opened by the first reader. */
  stream(): Promise<EventStream>;
};

export const uploadPath = "/api/uploads";

/** The router behind a path, if it is one of the two GraphQL paths. */
export function routerAt(path: string): Router | null {
  if (path === "/graphql") return "base";
  return path === "/gateway/graphql" ? "gateway" : null;
}

/** The whole service as a function of a request; rejects only where a fault cuts the connection. */
export function createHandler(service: Service): (request: Request) => Promise<Response> {
  return async (request) => {
    const { pathname } = new URL(request.url);
    const router = routerAt(pathname);
    if (router) return serveGraphql(service, router, request);
    if (pathname === uploadPath || pathname.startsWith(`${uploadPath}/`))
      return serveUpload(service, request);
    if (pathname.startsWith("/_mock/v1/")) return serveControl(service, request);
    if (pathname === "/_mock" || pathname.startsWith("/_mock/")) return serveInspector(pathname);
    const message =
      "there is nothing here; the paths are /graphql, /gateway/graphql, /api/uploads, /_mock/ and /_mock/v1";
    return Response.json({ error: { code: "NOT_FOUND", message } }, { status: 404 });
  };
}

async function serveGraphql(service: Service, router: Router, request: Request): Promise<Response> {
  const { worlds } = service;
  const headers = Object.fromEntries(request.headers);
  const body = await readBody(request, worlds.current.settings.bounds.bodyBytesMax);
  return toFetchResponse(
    await handleGraphql(worlds.current, router, { method: request.method, headers, body }),
  );
}

async function readBody(request: Request, bytesMax: number): Promise<RequestBody> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.length;
    if (bytes > bytesMax) return { problem: "too-large" };
    chunks.push(chunk);
  }
  return decodeBody(Buffer.concat(chunks));
}

export function decodeBody(bytes: Buffer): RequestBody {
  return isUtf8(bytes) ? bytes.toString("utf8") : { problem: "not-utf-8" };
}

async function serveUpload({ worlds }: Service, request: Request): Promise<Response> {
  const { serveUpload } = await import("../tus/serve-upload.ts");
  return serveUpload(worlds.current, request, uploadPath);
}

let inspector: ((path: string) => Response) | undefined;

async function serveInspector(path: string): Promise<Response> {
  const { createInspector, inspectorPath } = await import("../inspector/inspector.ts");
  if (!path.startsWith(inspectorPath))
    return new Response(null, { status: 308, headers: { location: inspectorPath } });
  inspector ??= createInspector();
  return inspector(path);
}

async function serveControl(service: Service, request: Request): Promise<Response> {
  const { handleControl } = await import("../control/control-handler.ts");
  const stream = await service.stream();
  return handleControl(request, {
    admin: service.admin,
    hostsAllowed: service.hostsAllowed,
    stream: ({ headers, signal }) => stream.open(headers.get("last-event-id"), signal),
  });
}
