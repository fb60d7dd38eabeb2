import type { z } from "zod";
import type { ServiceErrorCode } from "../errors.ts";
import { ServiceError } from "../rules/service-error.ts";
import { SnapshotError } from "../snapshot/snapshot-error.ts";
import type { Admin } from "./admin.ts";
import { ControlError, type ControlErrorCode, type ControlIssue } from "./control-error.ts";
import { guardControl } from "./guard.ts";
import { createOpenapiDocument } from "./openapi.ts";
import type { Route } from "./route.ts";
import { routes } from "./routes.ts";

// The control API over HTTP. Each route checks what came against its schema and asks the same `Admin`
// that callers in this process have at hand, so the two cannot differ.

export const controlPath = "/_mock/v1";

export type ControlOptions = {
  readonly admin: Admin;
  /** Host names besides the loopback ones that the API answers to. Default: none. */
  readonly hostsAllowed?: readonly string[];
  /** Longest request body. Default: 64 MiB, so that a large snapshot passes. */
  readonly bodyBytesMax?: number;
  /** The event stream of `GET stream`. */
  readonly stream: (request: Request) => Response;
};

const bodyBytesMaxDefault = 64 * 1_048_576;

/** Serves one request below `/_mock/v1`; never rejects. */
export async function handleControl(request: Request, options: ControlOptions): Promise<Response> {
  try {
    guardControl(request, options.hostsAllowed ?? []);
    return await answer(request, options);
  } catch (error) {
    return refuse(error);
  }
}

async function answer(request: Request, options: ControlOptions): Promise<Response> {
  const url = new URL(request.url);
  const path = url.pathname.slice(controlPath.length);
  if (request.method === "GET" && path === "/openapi.json") return json(200, createOpenapiDocument(routes));
  if (request.method === "GET" && path === "/stream") return options.stream(request);
  const { route, params } = findRoute(request.method, path);
  const query = route.query
    ? check(route.query, Object.fromEntries(url.searchParams), "INVALID_QUERY")
    : undefined;
  const body = route.body
    ? check(route.body, await readJson(request, options.bodyBytesMax ?? bodyBytesMaxDefault), "INVALID_BODY")
    : undefined;
  const input = { params, query: query as never, body: body as never, signal: request.signal };
  const result = await route.run(options.admin, input);
  if (!route.answer) return new Response(null, { status: route.status });
  return route.answersText ? jsonText(route.status, String(result)) : json(route.status, result);
}

function findRoute(method: string, path: string): { route: Route; params: Record<string, string> } {
  const found = routes
    .map((route) => ({ route, params: matchPath(route.path, path) }))
    .filter((match): match is { route: Route; params: Record<string, string> } => match.params !== null);
  if (found.length === 0) throw new ControlError("NOT_FOUND", `there is no ${path} in the control API`);
  const match = found.find(({ route }) => route.method === method);
  if (match) return match;
  const methods = found.map(({ route }) => route.method).join(", ");
  throw new ControlError("METHOD_NOT_ALLOWED", `${path} takes ${methods}`);
}

function matchPath(pattern: string, path: string): Record<string, string> | null {
  const expected = pattern.split("/");
  const found = path.split("/");
  if (expected.length !== found.length) return null;
  const params: Record<string, string> = {};
  for (const [index, segment] of expected.entries()) {
    const text = found[index] ?? "";
    const name = /^\{(.+)\}$/.exec(segment)?.[1];
    if (name !== undefined && text !== "") params[name] = safeDecode(text);
    else if (segment !== text) return null;
  }
  return params;
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A stray percent sign names nothing we issued; the raw text will not be found either.
    return text;
  }
}

async function readJson(request: Request, bodyBytesMax: number): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  if (request.body) {
    for await (const chunk of request.body) {
      bytes += chunk.length;
      if (bytes > bodyBytesMax)
        throw new ControlError("BODY_TOO_LARGE", `a body may have ${bodyBytesMax} bytes`);
      chunks.push(chunk);
    }
  }
  if (bytes === 0) return {};
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/json\b/i.test(type)) {
    // Also what keeps a form on a foreign page from sending anything.
    throw new ControlError("INVALID_BODY", "expected content-type application/json");
  }
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks)));
  } catch {
    throw new ControlError("INVALID_BODY", "expected a body of JSON in UTF-8");
  }
}

function check(schema: z.ZodType, value: unknown, code: "INVALID_BODY" | "INVALID_QUERY"): unknown {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = toIssues(parsed.error);
  const [first] = issues;
  throw new ControlError(code, first ? `${first.path || "body"}: ${first.message}` : "not valid", issues);
}

export const toIssues = (error: z.ZodError): ControlIssue[] =>
  error.issues.map(({ path, message }) => ({ path: path.join("."), message }));

function refuse(error: unknown): Response {
  const { status, code, message, issues } = toControlError(error);
  return json(status, { error: { code, message, issues } });
}

function toControlError(error: unknown): ControlError {
  if (error instanceof ControlError) return error;
  if (error instanceof ServiceError) {
    const code = serviceCodes[error.code] ?? "INVALID_BODY";
    return new ControlError(code, error.message);
  }
  if (error instanceof SnapshotError) return new ControlError("SNAPSHOT_REFUSED", error.message);
  return new ControlError("INTERNAL", "the mock failed; this is a bug");
}

/** Where a rule of the service refuses a call of the control API. */
const serviceCodes: { readonly [Code in ServiceErrorCode]?: ControlErrorCode } = {
  NOT_FOUND: "NOT_FOUND",
  CONFLICT: "CONFLICT",
};

const json = (status: number, value: unknown) => jsonText(status, JSON.stringify(value));

function jsonText(status: number, text: string): Response {
  return new Response(text, {
    status,
    headers: { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" },
  });
}
