import { type ExecutionResult, execute, GraphQLError } from "graphql";
import { parseRequestParams, type RequestParams } from "graphql-http";
import { type PlainResponse, serveWithFaults, type WireResponse } from "../faults/serve-with-faults.ts";
import { waitOnClock } from "../faults/wait-on-clock.ts";
import { authorise, endToken } from "../rules/identity/caller.ts";
import type { Router } from "../state/router.ts";
import type { World } from "../world/world.ts";
import { documentCache } from "./document-cache.ts";
import { type Formatted, formatError, reasonOf } from "./error-format.ts";
import { recordRequest } from "./journal-request.ts";
import { isNestedDeeper } from "./json-depth.ts";
import { type MediaType, negotiateMediaType } from "./media-type.ts";
import { type GraphqlRequest, type RequestContext, singleHeader } from "./request-context.ts";
import { routerSchema } from "./router-schema.ts";

// One GraphQL request from its text to its answer: media type → parameters → document → faults → who
// calls → allowance → execution → journal. The adapters bring the text and carry the answer away, so HTTP,
// `fetch` and MSW cannot differ.

/** Serves one request of a router; never rejects. */
export async function handleGraphql(
  world: World,
  router: Router,
  request: GraphqlRequest,
): Promise<WireResponse> {
  const context: RequestContext = {
    router,
    request,
    startedMs: world.clock.monotonic(),
    caller: authorise(world, singleHeader(request, "authorization")),
    faults: [],
    errors: [],
    rejection: null,
  };
  let answer: WireResponse;
  try {
    answer = await serve(world, context);
  } catch (error) {
    context.rejection = `internal error: ${error instanceof Error ? error.message : String(error)}`;
    answer = refuse(context, 500, "Internal server error", "INTERNAL_SERVER_ERROR");
  }
  recordRequest(world, context, answer);
  return answer;
}

async function serve(world: World, context: RequestContext): Promise<WireResponse> {
  const { request, router } = context;
  if (request.method !== "POST") {
    return {
      ...refuse(context, 405, "GraphQL requests must be sent with POST"),
      headers: { ...json, allow: "POST" },
    };
  }
  const mediaType = negotiateMediaType(singleHeader(request, "accept"));
  if (!mediaType) return refuse(context, 406, "Accept must allow application/json");
  const { body } = request;
  if (typeof body !== "string") {
    return body.problem === "too-large"
      ? refuse(context, 413, `Body must have at most ${world.settings.bounds.bodyBytesMax} bytes`)
      : refuse(context, 400, "Body must be UTF-8");
  }
  if (isNestedDeeper(body, world.settings.bounds.jsonDepthMax)) {
    return refuse(context, 400, "JSON body is nested too deeply");
  }
  const params = await readParams(request, body);
  if ("status" in params) return refuse(context, params.status, params.message);
  context.params = params;
  context.prepared = documentCache(router, world.settings.bounds).prepare(params.query);
  const operation = context.prepared.operation(params.operationName);
  if (operation) context.operation = operation;

  const run = async () => runOperation(world, context, mediaType);
  context.faults = world.faults.drawApi({
    keyId: context.caller.kind === "anonymous" ? null : context.caller.keyId,
    router,
    operations: operation?.fields ?? [],
  });
  if (context.faults.length === 0) return run();
  return serveWithFaults(context.faults, faultEffects(world, context), run);
}

async function readParams(
  { method, headers }: GraphqlRequest,
  body: string,
): Promise<RequestParams | { readonly status: number; readonly message: string }> {
  try {
    const params = await parseRequestParams({
      method,
      headers,
      body,
      url: "",
      raw: undefined,
      context: undefined,
    });
    if ("query" in params) return params;
    const { status, statusText } = params[1];
    return { status, message: status === 415 ? "Content-Type must be application/json" : statusText };
  } catch (error) {
    // graphql-http names in one sentence which parameter is wrong.
    return { status: 400, message: error instanceof Error ? error.message : "Bad request" };
  }
}

async function runOperation(
  world: World,
  context: RequestContext,
  mediaType: MediaType,
): Promise<PlainResponse> {
  const { router, params, prepared, operation, caller } = context;
  if (!params || !prepared) throw new Error("the request has no document");
  const refused = countRequest(world, context);
  if (refused) return refused;
  if (prepared.errors.length > 0 || !prepared.document) {
    return toAnswer(world, context, mediaType, { errors: prepared.errors }, "GRAPHQL_VALIDATION_FAILED");
  }
  if (!operation) {
    const error = new GraphQLError("operationName must name one operation of the document");
    return toAnswer(world, context, mediaType, { errors: [error] }, "GRAPHQL_VALIDATION_FAILED");
  }
  const result = await execute({
    schema: routerSchema(router),
    document: prepared.document,
    operationName: params.operationName ?? null,
    variableValues: params.variables ?? null,
    contextValue: { world, caller },
  });
  return toAnswer(world, context, mediaType, result, "BAD_USER_INPUT");
}

/** The logins are public and counted for nobody (L3, A-20). */
const uncounted = new Set(["exchangeSurfaceRefreshTokenForAccessTokens", "loginViaPersonalApiToken"]);

/** Counts the request on its key, on both routers together (L2); gives the refusal when it is one too many. */
function countRequest(world: World, context: RequestContext): PlainResponse | null {
  const { caller, operation } = context;
  if (caller.kind !== "member" && caller.kind !== "partner") return null;
  if (operation?.fields.every((field) => uncounted.has(field))) return null;
  const permit = world.limiter.take(caller.keyId, world.clock.now());
  if (permit.granted) return null;
  const answer = refuse(context, 429, "Too many requests", "RATE_LIMITED");
  return { ...answer, headers: { ...answer.headers, "retry-after": String(permit.retryAfterSeconds) } };
}

function toAnswer(
  world: World,
  context: RequestContext,
  mediaType: MediaType,
  result: ExecutionResult,
  codeOfMistakes: "BAD_USER_INPUT" | "GRAPHQL_VALIDATION_FAILED",
): PlainResponse {
  const headers = headersOf[mediaType];
  if (!result.errors) return { status: 200, headers, body: JSON.stringify(result) };
  const errors = result.errors.map((error) => formatError(error, codeOfMistakes));
  context.errors = errors;
  context.rejection = result.errors.map(reasonOf).join("; ");
  const status = statusOf(world, mediaType, errors, "data" in result);
  return { status, headers, body: JSON.stringify({ ...result, errors }) };
}

function statusOf(
  world: World,
  mediaType: MediaType,
  errors: readonly Formatted[],
  hasData: boolean,
): number {
  const unauthenticated = errors.some(({ extensions }) => extensions.code === "UNAUTHENTICATED");
  if (unauthenticated) return world.settings.unauthenticatedStatus;
  return hasData || mediaType === "application/json" ? 200 : 400;
}

const json = { "content-type": "application/json; charset=utf-8" };
const headersOf: Record<MediaType, Readonly<Record<string, string>>> = {
  "application/json": json,
  "application/graphql-response+json": {
    "content-type": "application/graphql-response+json; charset=utf-8",
  },
};

function refuse(
  context: RequestContext,
  status: number,
  message: string,
  code = "BAD_REQUEST",
): PlainResponse {
  const error: Formatted = { message, extensions: { code } };
  context.errors = [error];
  context.rejection ??= message;
  return { status, headers: json, body: JSON.stringify({ errors: [error] }) };
}

function faultEffects(world: World, context: RequestContext) {
  return {
    wait: (delayMs: number) => waitOnClock(world, delayMs),
    expireToken() {
      endToken(world, context.caller);
      context.caller = authorise(world, singleHeader(context.request, "authorization"));
    },
    burnQuota(requests: number | null) {
      if (context.caller.kind === "anonymous") return;
      world.limiter.burn(context.caller.keyId, world.clock.now(), requests ?? undefined);
    },
  };
}
