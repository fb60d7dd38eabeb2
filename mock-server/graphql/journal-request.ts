import type { WireResponse } from "../faults/serve-with-faults.ts";
import { keyIdOf } from "../rules/identity/caller.ts";
import { journalTextCharsMax } from "../settings/bounds.ts";
import { redactText, redactVariables } from "./documents/redaction.ts";
import { withoutValue } from "./error-format.ts";
import { type RequestContext, singleHeader } from "./request-context.ts";

/** Records the request and its response, without the secrets in them. */
export function recordRequest(context: RequestContext, response: WireResponse): void {
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
