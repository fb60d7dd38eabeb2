// A receiver of many tenants keeps the deliveries of each under a source of its own, `source/tenant`: ids, ordering heads
// and backlog of one tenant cannot affect those of another. Neither part contains a slash.

import { WebhookRejectedError } from "../errors.ts";
import type { VerifiedWebhook } from "./verifier.ts";

const separator = "/";
/** Follows the separator in byte order. */
const afterSeparator = "0";

export function tenantSource(source: string, tenant: string | undefined): string {
  return tenant === undefined ? source : `${source}${separator}${tenant}`;
}

export function splitSource(stored: string): {
  readonly source: string;
  readonly tenant: string | undefined;
} {
  const at = stored.indexOf(separator);
  return at < 0
    ? { source: stored, tenant: undefined }
    : { source: stored.slice(0, at), tenant: stored.slice(at + 1) };
}

/** True for the source itself and for those of its tenants. */
export function includesSource(source: string, stored: string): boolean {
  return stored === source || stored.startsWith(source + separator);
}

/** The stored sources of tenants are greater than `from` and less than `to`, by bytes. */
export function tenantRange(source: string): { readonly from: string; readonly to: string } {
  return { from: source + separator, to: source + afterSeparator };
}

/**
 * A tenant's secret proves who signed, not that the event is theirs: a holder of it can sign an event that names another
 * workspace. One that names none is quarantined.
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
