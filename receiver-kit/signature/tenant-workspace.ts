import { WebhookRejectedError } from "../errors.ts";
import type { VerifiedWebhook } from "./verifier.ts";

/**
 * A tenant's secret proves who signed, not that the event is theirs: a holder of it can sign an event that names another
 * workspace. An event that names none passes: its rows belong to the tenant all the same.
 *
 * @throws {WebhookRejectedError} `WORKSPACE_MISMATCH`
 */
export function throwIfOtherWorkspace({ id, body, tenant }: VerifiedWebhook): void {
  if (!tenant) return;
  const named = namedWorkspace(body);
  if (named === undefined || named === null || named === tenant.workspaceId) return;
  throw new WebhookRejectedError(
    "WORKSPACE_MISMATCH",
    `workspaceId: the event is not of the workspace of tenant ${tenant.id}`,
    { webhookId: id },
  );
}

/** Also of a body that is not a usable event: such a row may be replayed later. */
function namedWorkspace(body: Uint8Array): unknown {
  try {
    return (JSON.parse(new TextDecoder().decode(body)) as { workspaceId?: unknown } | null)?.workspaceId;
  } catch {
    // Not JSON: it names none, and never will.
    return undefined;
  }
}
