import { type KeyName, keysNeeded, keyVariables, type Permission, type Probe } from "../rules/probe.ts";
import type { Rule } from "../rules/rule.ts";
import { deliveryRules } from "./deliveries.ts";
import { documentRules } from "./documents.ts";
import { endpointWriteRules } from "./endpoint-writes.ts";
import { endpointRules } from "./endpoints.ts";
import { gatewayRules } from "./gateway.ts";
import { listRules } from "./lists.ts";
import { partnerRules } from "./partner-operations.ts";
import { rateLimitRules } from "./rate-limit.ts";
import { tokenRules } from "./tokens.ts";
import { transportRules } from "./transport.ts";
import { uploadRules } from "./uploads.ts";

const rulesOfSubjects: readonly Rule[] = [
  ...transportRules,
  ...tokenRules,
  ...endpointRules,
  ...listRules,
  ...uploadRules,
  ...gatewayRules,
  ...endpointWriteRules,
  ...partnerRules,
  ...deliveryRules,
  ...rateLimitRules,
];

const probesOf = (rules: readonly Rule[]): readonly Probe[] => [
  ...new Map(rules.flatMap(({ send }) => send).map((probe) => [probe.id, probe])).values(),
];

/** Every rule, in the order of the report. */
export const allRules: readonly Rule[] = [...rulesOfSubjects, ...documentRules(probesOf(rulesOfSubjects))];

/** Every probe, in the order in which they are sent. */
export const allProbes: readonly Probe[] = probesOf(allRules);

/** What a run may send. */
export interface Plan {
  readonly permissions: ReadonlySet<Permission>;
  readonly keys: ReadonlySet<KeyName>;
  readonly hasGateway: boolean;
}

/** What a run needs so that a probe can be sent; `null` when it has it. */
export function missingFor(probe: Probe, { permissions, keys, hasGateway }: Plan): string | null {
  if (!permissions.has(probe.permission)) return "needs --writes";
  if (probe.router === "gateway" && !hasGateway) return "needs --gateway-url";
  const missing = keysNeeded(probe).find((name) => !keys.has(name));
  if (missing !== undefined) return `needs ${keyVariables[missing]}`;
  if ((probe.token === "reader" || probe.token === "user") && !keys.has("admin") && !keys.has("readOnly"))
    return `needs ${keyVariables.admin}`;
  return null;
}

export const planProbes = (plan: Plan): readonly Probe[] =>
  allProbes.filter((probe) => missingFor(probe, plan) === null);
