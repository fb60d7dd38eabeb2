import { readBytes } from "@workspace-tasks/kernel/bytes.ts";
import { parseJson } from "@workspace-tasks/kernel/json.ts";
import { MockServerError } from "../errors.ts";
import * as snapshot from "../snapshot/snapshot.ts";
import type { Snapshot } from "../snapshot/snapshot-schema.ts";
import { contract, runCall } from "./contract.ts";
import { toMockServerError } from "./control-api.ts";
import type { EventStream } from "./event-stream.ts";
import { createOpenapiDocument, errorStatuses } from "./openapi.ts";
import { type ControlContext, methodOf, pathOf, type Route } from "./route.ts";

export const controlPath = "/_mock/v1";

export interface ControlHandlerOptions {
  /** From `/_mock/v1` on, without the prefix of a world. */
  readonly path: string;
  readonly context: ControlContext;
  readonly stream: EventStream;
  /** Longest request body. Default: 512,000,000 bytes. */
  readonly bodyBytesMax?: number | undefined;
}

/** Serves one request below `/_mock/v1`; never rejects. */
export async function handleControl(request: Request, options: ControlHandlerOptions): Promise<Response> {
  try {
    return await respond(request, options);
  } catch (error) {
    const { code, message, issues } = toMockServerError(error);
    return json(errorStatuses[code] ?? 500, { error: { code, message, issues } });
  }
}

async function respond(request: Request, options: ControlHandlerOptions): Promise<Response> {
  const { searchParams } = new URL(request.url);
  const path = options.path.slice(controlPath.length);
  const { method, headers, signal } = request;
  if (method === "GET" && path === "/openapi.json") return json(200, createOpenapiDocument(contract));
  if (method === "GET" && path === "/stream") {
    return options.stream.open(headers.get("last-event-id"), signal);
  }
  const { name, route, ids } = findRoute(method, path);
  const input = method === "GET" ? readQuery(searchParams) : await readInput(name, request, options);
  const response = await runCall(name, options.context, { ids, input, options: { signal } });
  if (name === "getSnapshot") return jsonResponse(200, snapshot.snapshotText(response as Snapshot));
  return route.response ? json(route.status, response) : new Response(null, { status: route.status });
}

/** @throws MockServerError QUERY_INVALID for a parameter that is given twice: one of its values would be ignored */
function readQuery(query: URLSearchParams): Record<string, string> {
  const path = [...query.keys()].find((name) => query.getAll(name).length > 1);
  if (path === undefined) return Object.fromEntries(query);
  const message = `expected one value, got ${query.getAll(path).length}`;
  throw new MockServerError("QUERY_INVALID", `${path}: ${message}`, { issues: [{ path, message }] });
}

interface Match {
  readonly name: keyof typeof contract;
  readonly route: Route;
  readonly ids: readonly string[];
}

function findRoute(method: string, path: string): Match {
  const found: Match[] = [];
  for (const [name, route] of Object.entries(contract) as [Match["name"], Route][]) {
    const ids = matchPath(pathOf(route), path);
    if (ids) found.push({ name, route, ids });
  }
  if (found.length === 0) throw new MockServerError("NOT_FOUND", `there is no ${path} in the control API`);
  const match = found.find(({ route }) => methodOf(route) === method);
  if (match) return match;
  const methods = found.map(({ route }) => methodOf(route)).join(", ");
  throw new MockServerError("METHOD_NOT_ALLOWED", `${path} takes ${methods}`);
}

/** The ids in the path, or `null` for a path of another route. */
function matchPath(pattern: string, path: string): string[] | null {
  const segments = new RegExp(`^${pattern.replace(/\{\w+\}/g, "([^/]+)")}$`);
  return segments.exec(path)?.slice(1).map(safeDecode) ?? null;
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // No id has a stray percent sign, so the raw text is not found either.
    return text;
  }
}

async function readInput(
  name: Match["name"],
  request: Request,
  { bodyBytesMax = snapshot.snapshotBytesMax }: ControlHandlerOptions,
): Promise<unknown> {
  const body = await readBytes(request.body, bodyBytesMax);
  if (!body) throw new MockServerError("BODY_TOO_LARGE", `a body may have ${bodyBytesMax} bytes`);
  if (body.length === 0) return {};
  checkContentType(request);
  return name === "restoreSnapshot" ? snapshot.parseSnapshot(body) : parseInput(body);
}

/** A form on a foreign page cannot send this type. */
function checkContentType({ headers }: Request): void {
  const type = headers.get("content-type");
  if (/^application\/json\b/i.test(type ?? "")) return;
  const got = type === null ? "no content-type" : JSON.stringify(type.slice(0, 64));
  throw new MockServerError("BODY_INVALID", `expected content-type application/json, got ${got}`);
}

function parseInput(body: Uint8Array): unknown {
  try {
    return parseJson(body, snapshot.snapshotDepthMax);
  } catch (cause) {
    throw new MockServerError(
      "BODY_INVALID",
      `expected JSON in UTF-8, up to ${snapshot.snapshotDepthMax} levels deep`,
      {
        cause,
      },
    );
  }
}

const json = (status: number, value: unknown) => jsonResponse(status, JSON.stringify(value));

const jsonResponse = (status: number, body: string) =>
  new Response(body, {
    status,
    headers: { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" },
  });
