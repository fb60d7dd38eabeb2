import { endpointWriteProbes } from "./endpoint-write-probes.ts";
import { gatewayProbes, identityProbes } from "./identity-probes.ts";
import { listProbes } from "./list-probes.ts";
import { operationWriteProbes } from "./operation-write-probes.ts";
import { type KeyName, keysNeeded, type Permission, type Probe } from "./probe.ts";
import { gatewayTransportProbes, transportProbes } from "./transport-probes.ts";
import { uploadProbes } from "./upload-probes.ts";
import { webhookProbes } from "./webhook-probes.ts";

/** Every probe, in the order in which they are sent. */
export const allProbes: readonly Probe[] = [
  ...transportProbes,
  ...identityProbes,
  ...webhookProbes,
  ...listProbes,
  ...uploadProbes,
  ...gatewayTransportProbes,
  ...gatewayProbes,
  ...endpointWriteProbes,
  ...operationWriteProbes,
];

export interface PlanInput {
  readonly permissions: ReadonlySet<Permission>;
  readonly keys: ReadonlySet<KeyName>;
  readonly hasGateway: boolean;
}

/** What a run needs so that a probe can be sent; `null` when it has it. */
export function missingFor(probe: Probe, { permissions, keys, hasGateway }: PlanInput): string | null {
  if (!permissions.has(probe.permission)) return "needs --writes";
  if (probe.router === "gateway" && !hasGateway) return "needs --gateway-url";
  const missing = keysNeeded(probe).find((name) => !keys.has(name));
  if (missing !== undefined) return `needs ${keyVariables[missing]}`;
  if ((probe.token === "reader" || probe.token === "user") && !keys.has("admin") && !keys.has("readOnly"))
    return `needs ${keyVariables.admin}`;
  return null;
}

/** Environment variables of the keys. */
export const keyVariables: Readonly<Record<KeyName, string>> = {
  admin: "WORKSPACE_TASKS_API_KEY",
  readOnly: "WORKSPACE_TASKS_READ_ONLY_API_KEY",
  revoked: "WORKSPACE_TASKS_REVOKED_API_KEY",
  expired: "WORKSPACE_TASKS_EXPIRED_API_KEY",
  partner: "WORKSPACE_TASKS_PARTNER_API_KEY",
};

export const planProbes = (input: PlanInput): readonly Probe[] =>
  allProbes.filter((probe) => missingFor(probe, input) === null);
