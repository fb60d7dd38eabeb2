import type { Rule } from "../ask/rule.ts";
import { deliveryRules } from "./deliveries.ts";
import { documentRules } from "./documents.ts";
import { catalogRules, endpointRules, endpointWriteRules } from "./endpoints.ts";
import { clientRules, partnerRules, taskRules, uploadRules } from "./records.ts";
import { gatewayRules, tokenRules } from "./tokens.ts";
import { responseRules, transportRules } from "./transport.ts";

/** Every rule that a service can be asked about, in the order in which they are asked and reported. */
export const rules: readonly Rule[] = [
  ...transportRules,
  ...tokenRules,
  ...catalogRules,
  ...endpointRules,
  ...taskRules,
  ...clientRules,
  ...uploadRules,
  ...gatewayRules,
  ...endpointWriteRules,
  ...partnerRules,
  ...deliveryRules,
  ...documentRules,
  ...responseRules,
];
