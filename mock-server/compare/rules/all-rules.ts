import { deliveryRules } from "./delivery-rules.ts";
import { driftRules } from "./drift-rules.ts";
import { gatewayRules, identityRules } from "./identity-rules.ts";
import { listRules } from "./list-rules.ts";
import { measuredRules } from "./measured-rules.ts";
import type { Rule } from "./rule.ts";
import { transportRules } from "./transport-rules.ts";
import { uploadRules } from "./upload-rules.ts";
import { webhookRules } from "./webhook-rules.ts";
import { writeRules } from "./write-rules.ts";

/** Every rule, in the order of the report. */
export const allRules: readonly Rule[] = [
  ...transportRules,
  ...identityRules,
  ...webhookRules,
  ...listRules,
  ...uploadRules,
  ...gatewayRules,
  ...writeRules,
  ...deliveryRules,
  ...measuredRules,
  ...driftRules,
];
