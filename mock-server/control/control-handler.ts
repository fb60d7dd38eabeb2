import { MockServerError } from "../errors.ts";
import { isNestedDeeper } from "../json-depth.ts";
import type { Snapshot } from "../snapshot/snapshot-schema.ts";
import { jsonChunks, snapshotDepth } from "../snapshot/write-json.ts";
import { checkRouteInput } from "./contract/check-input.ts";
import { contract } from "./contract/contract.ts";
import { errorStatuses } from "./contract/error-statuses.ts";
import { methodOf, pathOf, type Route } from "./contract/route.ts";
import { type Controls, toMockServerError } from "./control-api.ts";
import type { EventStream } from "./event-stream.ts";
import { createOpenapiDocument } from "./openapi.ts";

export const controlPath = "/_mock/v1";

export interface ControlHandlerOptions {
  /** From `/_mock/v1` on, without the prefix of a world. */
  readonly path: string;
  readonly controls: Controls;
  /** Created for the first reader. */
  stream(): Promise<EventStream>;
  /** Longest request body, but for a snapshot. Default: 64 MiB. */
  readonly bodyBytesMax?: number | undefined;
}

const bodyBytesMaxDefault = 64 * 1_048_576;
/** More than a snapshot has around JSON that the API accepts, and less than recursive functions can take. */
const jsonDepthMax = 500;

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
    const stream = await options.stream();
    return stream.open(headers.get("last-event-id"), signal);
  }
  const { name, route, ids } = findRoute(method, path);
  if (name === "getSnapshot") return snapshotResponse(await options.controls.getSnapshot());
  if (name === "restoreSnapshot") return restoreStreamed(request, options);
  const input = checkRouteInput(
    route,
    method === "GET" ? Object.fromEntries(searchParams) : await readJson(request, options),
  );
  const control = options.controls[name] as (...parameters: unknown[]) => unknown;
  const parameters = route.input ? [...ids, input, { signal }] : [...ids, { signal }];
  const response = await control(...parameters);
  return route.response ? json(route.status, response) : new Response(null, { status: route.status });
}

// A snapshot can be longer than the longest string of the engine, and than the bound on other bodies.

function snapshotResponse(snapshot: Snapshot): Response {
  const chunks = jsonChunks(snapshot, snapshotDepth);
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const { done, value } = chunks.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
  });
  return new Response(body, { headers: jsonHeaders });
}

async function restoreStreamed(request: Request, { controls }: ControlHandlerOptions): Promise<Response> {
  checkContentType(request);
  const { readSnapshotText } = await import("../snapshot/read-snapshot.ts");
  const snapshot = await readSnapshotText(
    request.body ?? new ReadableStream({ start: (body) => body.close() }),
  );
  await controls.restoreSnapshot(snapshot);
  return new Response(null, { status: 204 });
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
  const expected = pattern.split("/");
  const found = path.split("/");
  if (expected.length !== found.length) return null;
  const ids: string[] = [];
  for (const [index, segment] of expected.entries()) {
    const text = found[index] ?? "";
    if (segment.startsWith("{") && text !== "") ids.push(safeDecode(text));
    else if (segment !== text) return null;
  }
  return ids;
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // No id has a stray percent sign, so the raw text is not found either.
    return text;
  }
}

async function readJson(request: Request, options: ControlHandlerOptions): Promise<unknown> {
  const { bodyBytesMax = bodyBytesMaxDefault } = options;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax)
      throw new MockServerError("BODY_TOO_LARGE", `a body may have ${bodyBytesMax} bytes`);
    chunks.push(chunk);
  }
  if (bytes === 0) return {};
  checkContentType(request);
  return parseJson(Buffer.concat(chunks));
}

/** A form on a foreign page cannot send this type. */
function checkContentType({ headers }: Request): void {
  const type = headers.get("content-type");
  if (/^application\/json\b/i.test(type ?? "")) return;
  const got = type === null ? "no content-type" : JSON.stringify(type.slice(0, 64));
  throw new MockServerError("BODY_INVALID", `expected content-type application/json, got ${got}`);
}

function parseJson(bytes: Buffer): unknown {
  try {
    const body = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (!isNestedDeeper(body, jsonDepthMax)) return JSON.parse(body);
  } catch {
    throw new MockServerError("BODY_INVALID", "expected a body of JSON in UTF-8");
  }
  throw new MockServerError("BODY_INVALID", `a body may be nested ${jsonDepthMax} levels deep`);
}

function json(status: number, value: unknown): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: jsonHeaders,
  });
}

const jsonHeaders = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" };
