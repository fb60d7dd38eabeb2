import { WebhookRejectedError } from "../errors.ts";
import type { VerifiedWebhook } from "./verifier.ts";

/**
 * A tenant's secret proves who signed, not that the event is theirs: a holder of it can sign an event that names another
 * workspace. An event that names none passes: its rows belong to the tenant all the same.
 *
 * @param named the workspace that the body names, whatever its type; also of a body that is not a usable event, whose row
 *   may be replayed later
 * @throws {WebhookRejectedError} `WORKSPACE_MISMATCH`
 */
export function throwIfOtherWorkspace({ id, tenant }: VerifiedWebhook, named: unknown): void {
  if (!tenant) return;
  if (named === undefined || named === null || named === tenant.workspaceId) return;
  throw new WebhookRejectedError(
    "WORKSPACE_MISMATCH",
    `workspaceId: the event is not of the workspace of tenant ${tenant.id}`,
    { webhookId: id },
  );
}
