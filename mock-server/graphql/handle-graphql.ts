// One GraphQL request from its text to its response: caller → media type → parameters → document → faults → rate
// limit → execution → journal. The adapters (HTTP, `fetch`, MSW) only pass text in and out, so they cannot differ.

import { isNestedDeeper } from "@workspace-tasks/kernel/json.ts";
import { isError } from "@workspace-tasks/kernel/realm.ts";
import { type ExecutionResult, execute, GraphQLError } from "graphql";
import { faultEffects, type PlainResponse, serveWithFaults, type WireResponse } from "../faults.ts";
import { authorise, keyIdOf } from "../rules/identity.ts";
import { journalTextCharsMax, jsonDepthMax } from "../settings/settings.ts";
import type { Router } from "../state/fault.ts";
import type { World } from "../world/world.ts";
import { documentCaches } from "./documents.ts";
import { type MediaType, negotiateMediaType } from "./media-type.ts";
import { redactText, redactVariables } from "./redaction.ts";
import {
  type FormattedError,
  formatError,
  type GraphqlRequest,
  type RequestContext,
  readRequestParams,
  reasonOf,
  singleHeader,
  withoutValue,
  withReplacement,
} from "./request.ts";
import { runOverridden, takeOverrides } from "./run-overridden.ts";
import { routerSchema } from "./schema.ts";

/** Serves one request of a router; never rejects. */
export async function handleGraphql(
  world: World,
  router: Router,
  request: GraphqlRequest,
): Promise<WireResponse> {
  const context: RequestContext = {
    world,
    router,
    request,
    startedMs: world.clock.monotonic(),
    caller: authorise(world, singleHeader(request, "authorization")),
    faults: [],
    errors: [],
    rejection: null,
  };
  let response: WireResponse;
  try {
    response = await readAndRun(context);
  } catch (error) {
    context.rejection = `internal error: ${isError(error) ? error.message : String(error)}`;
    response = reject(context, 500, "Internal server error", "INTERNAL_SERVER_ERROR");
  }
  recordRequest(context, response);
  return response;
}

async function readAndRun(context: RequestContext): Promise<WireResponse> {
  const { world, request, router } = context;
  if (request.method !== "POST") {
    return {
      ...reject(context, 405, "GraphQL requests must be sent with POST"),
      headers: { ...json, allow: "POST" },
    };
  }
  const mediaType = negotiateMediaType(singleHeader(request, "accept"));
  if (!mediaType) return reject(context, 406, "Accept must allow application/json");
  context.mediaType = mediaType;
  const { body } = request;
  if (typeof body !== "string") {
    return body.problem === "too-large"
      ? reject(context, 413, `Body must have at most ${world.settings.bounds.bodyBytesMax} bytes`)
      : reject(context, 400, "Body must be UTF-8");
  }
  if (isNestedDeeper(body, jsonDepthMax)) {
    return reject(context, 400, "JSON body is nested too deeply");
  }
  const params = readRequestParams(singleHeader(request, "content-type"), body);
  if ("status" in params) return reject(context, params.status, params.message);
  context.params = params;
  context.prepared = documentCaches[router].prepare(params.query);
  const operation = context.prepared.operation(params.operationName);
  if (operation) context.operation = operation;

  context.faults = world.faults.drawApi({
    keyId: keyIdOf(context.caller),
    router,
    operations: operation?.fields ?? [],
    content: body,
    isCounted: isCounted(context),
  });
  if (context.faults.length === 0) return runOperation(context);
  const effects = faultEffects(world, () => context.caller, request.hold);
  const expireToken = () => {
    effects.expireToken();
    context.caller = authorise(world, singleHeader(request, "authorization"));
  };
  return serveWithFaults(context.faults, { ...effects, expireToken }, async () => runOperation(context));
}

/** Not a promise when the resolvers return none. */
function runOperation(context: RequestContext): PlainResponse | Promise<PlainResponse> {
  const { world, router, params, prepared, operation, caller } = context;
  if (!params || !prepared) throw new Error("the request has no document");
  const rejected = countRequest(context);
  if (rejected) return rejected;
  if (prepared.errors.length > 0 || !prepared.document) {
    return toResponse(context, { errors: prepared.errors }, "GRAPHQL_VALIDATION_FAILED");
  }
  if (!operation) {
    const error = new GraphQLError("operationName must name one operation of the document");
    return toResponse(context, { errors: [error] }, "GRAPHQL_VALIDATION_FAILED");
  }
  const overrides = world.overrides.size > 0 ? takeOverrides(context, operation) : null;
  const respond = (result: ExecutionResult) => toResponse(context, result, "BAD_USER_INPUT");
  if (overrides) return runOverridden(context, operation, overrides).then(respond);
  const result = execute({
    schema: routerSchema(router),
    document: prepared.document,
    operationName: params.operationName ?? null,
    variableValues: params.variables ?? null,
    contextValue: { world, caller },
  });
  return result instanceof Promise ? result.then(respond) : respond(result);
}

/** The logins need no token and do not count (L3, A-20). */
const uncounted = new Set(["exchangeSurfaceRefreshTokenForAccessTokens", "loginViaPersonalApiToken"]);

const isCounted = ({ caller, operation }: RequestContext): boolean =>
  (caller.kind === "member" || caller.kind === "partner") &&
  !operation?.fields.every((field) => uncounted.has(field));

/** Counts the request on its key, on both routers together (L2). @returns the rejection past the rate limit */
function countRequest(context: RequestContext): PlainResponse | null {
  const { world, caller } = context;
  if (!isCounted(context) || caller.kind === "anonymous") return null;
  const permit = world.limiter.take(caller.keyId, world.clock.now());
  if (permit.granted) return null;
  const response = reject(context, 429, "Too many requests", "RATE_LIMITED");
  return { ...response, headers: { ...response.headers, "retry-after": String(permit.retryAfterSeconds) } };
}

function toResponse(
  context: RequestContext,
  result: ExecutionResult,
  codeOfMistakes: "BAD_USER_INPUT" | "GRAPHQL_VALIDATION_FAILED",
): PlainResponse {
  const headers = headersOf[context.mediaType ?? "application/json"];
  if (!result.errors) return { status: 200, headers, body: JSON.stringify(result) };
  const own = result.errors.map((error) => formatError(error, codeOfMistakes));
  const status = statusOf(context, own, "data" in result);
  const errors = own.map((error) => withReplacement(error, context.world.settings.errors));
  context.errors = errors;
  context.rejection = result.errors.map(reasonOf).join("; ");
  return { status, headers, body: JSON.stringify({ ...result, errors }) };
}

function statusOf(
  { world, mediaType }: RequestContext,
  errors: readonly FormattedError[],
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

function reject(
  context: RequestContext,
  status: number,
  message: string,
  code = "BAD_REQUEST",
): PlainResponse {
  const error: FormattedError = { message, extensions: { code } };
  context.errors = [error];
  context.rejection ??= message;
  return { status, headers: json, body: JSON.stringify({ errors: [error] }) };
}

/** Records the request and its response, without the secrets in them. */
function recordRequest(context: RequestContext, response: WireResponse): void {
  const { world, router, request, caller, params, prepared, operation } = context;
  const { abort } = response;
  const cut = abort?.kind === "cut" && abort.afterBytes === null;
  const entry = world.journal.append({
    atMs: world.clock.now(),
    router,
    operationName: redactCut(operation?.name, 200),
    operations: operation?.fields ?? [],
    query: prepared ? prepared.redacted.text : null,
    variables:
      prepared &&
      params?.variables &&
      typeof request.body === "string" &&
      request.body.length <= journalTextCharsMax
        ? redactVariables(params.variables, prepared.redacted.secretVariables)
        : null,
    caller: caller.kind,
    keyId: keyIdOf(caller),
    userId: caller.kind === "anonymous" ? null : caller.user.id,
    workspaceId: caller.kind === "member" ? caller.workspace.id : null,
    sourcePlatform: redactCut(singleHeader(request, "source-platform"), 200),
    status: cut ? null : response.status,
    errors: context.errors.map(({ message, path, extensions }) => ({
      message: redactText(withoutValue(message).slice(0, 500)),
      code: extensions.code,
      path: redactCut(path?.join("."), 500),
    })),
    rejection: redactCut(context.rejection, 2_000),
    faults: context.faults.map(({ kind }) => kind),
    ...(context.overridden ? { overridden: context.overridden } : {}),
    durationMs: world.clock.monotonic() - context.startedMs,
  });
  if (!cut) {
    const { headers: responseHeaders, body: responseBody } = response;
    world.roundTrips.keep(entry.sequence, { requestHeaders: request.headers, responseHeaders, responseBody });
  }
  world.emit({ type: "request.completed", request: entry });
}

const redactCut = (text: string | null | undefined, charsMax: number) =>
  text == null ? null : redactText(text.slice(0, charsMax));
