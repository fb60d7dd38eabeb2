import type { WireResponse } from "../faults/serve-with-faults.ts";
import type { Caller } from "../rules/identity/caller.ts";
import type { World } from "../world/world.ts";
import { withoutValue } from "./error-format.ts";
import { redactVariables } from "./redaction.ts";
import { type RequestContext, singleHeader } from "./request-context.ts";

/** Writes down what came and how it was answered, without the secrets in it. */
export function recordRequest(world: World, context: RequestContext, answer: WireResponse): void {
  const { router, request, caller, params, prepared, operation } = context;
  const { journalTextCharsMax } = world.settings.bounds;
  const cut = answer.ending?.kind === "cut" && answer.ending.afterBytes === null;
  const entry = world.journal.append({
    atMs: world.clock.now(),
    router,
    operationName: operation?.name ?? null,
    operations: operation?.fields ?? [],
    query: prepared ? prepared.masked.text.slice(0, journalTextCharsMax) : null,
    variables:
      prepared &&
      params?.variables &&
      typeof request.body === "string" &&
      request.body.length <= journalTextCharsMax
        ? redactVariables(params.variables, prepared.masked.secretVariables)
        : null,
    ...identityOf(caller),
    sourcePlatform: singleHeader(request, "source-platform")?.slice(0, 200) ?? null,
    status: cut ? null : answer.status,
    errors: context.errors.map(({ message, path, extensions }) => ({
      message: withoutValue(message).slice(0, 500),
      code: extensions.code,
      path: path ? path.join(".") : null,
    })),
    rejection: context.rejection,
    faults: context.faults.map(({ kind }) => kind),
    durationMs: world.clock.monotonic() - context.startedMs,
  });
  world.emit({ type: "request.completed", request: entry });
}

function identityOf(caller: Caller) {
  if (caller.kind === "anonymous")
    return { caller: caller.kind, keyId: null, userId: null, workspaceId: null };
  return {
    caller: caller.kind,
    keyId: caller.keyId,
    userId: caller.user.id,
    workspaceId: caller.kind === "member" ? caller.workspace.id : null,
  };
}
