import { didYouMean } from "@workspace-tasks/kernel/did-you-mean.ts";
import { ReceiverError } from "@workspace-tasks/receiver-kit";
import { effectChecks } from "./effects.ts";
import { contentTypeChecks, headerChecks, methodChecks } from "./headers.ts";
import { payloadChecks } from "./payloads.ts";
import { type AuditCheck, mustAcknowledge, unchanged } from "./probe-check.ts";
import { responseChecks } from "./responses.ts";
import { signatureChecks, timestampChecks } from "./signature.ts";
import { transferChecks } from "./transfer.ts";

/** The check that all others need. */
export const validDelivery: AuditCheck = {
  id: "baseline.valid-delivery",
  ...mustAcknowledge({
    title: "acknowledges a valid delivery",
    sent: "a new, correctly signed task event",
    fix: "No other check has a meaning until a valid delivery is acknowledged.",
    unverified: undefined,
    change: unchanged,
  }),
};

/** The check whose failure is the root cause of others: a receiver that accepts forged deliveries verifies nothing. */
export const forgedDelivery = "signature.forged";

/** The only check for which a failure to connect is a finding. */
export const stillResponding = "baseline.still-responding";

/** Every check, in the order of reports. */
export const auditChecks: readonly AuditCheck[] = [
  validDelivery,
  ...Object.entries({
    ...signatureChecks,
    ...timestampChecks,
    ...headerChecks,
    ...effectChecks,
    ...payloadChecks,
    ...contentTypeChecks,
    ...transferChecks,
    ...methodChecks,
    ...responseChecks,
    [stillResponding]: mustAcknowledge({
      stage: "last",
      title: "still acknowledges a valid delivery after all other checks",
      sent: "a new, correctly signed task event, after all other checks",
      fix: "An earlier request stopped the receiver: read its log, and use --only to find the request.",
      unverified: undefined,
      change: unchanged,
    }),
  }).map(([id, check]) => ({ id, ...check })),
];

/**
 * The checks that `only` names: whole ids, or subjects such as `signature`. All of them when it is empty.
 *
 * @throws {ReceiverError} `CONFIGURATION_INVALID` when no check has such a name
 */
export function selectChecks(only: readonly string[]): readonly AuditCheck[] {
  for (const name of only) {
    if (auditChecks.some((check) => isNamed(check, name))) continue;
    const names = auditChecks.flatMap(({ id }) => [id, id.replace(/\..*/, "")]);
    const message = `expected the id or the subject of a check, got ${JSON.stringify(name)}`;
    const hint = didYouMean(name, names);
    throw new ReceiverError("CONFIGURATION_INVALID", `auditReceiver: only: ${message}${hint}`);
  }
  return only.length === 0 ? auditChecks : auditChecks.filter((c) => only.some((name) => isNamed(c, name)));
}

const isNamed = ({ id }: AuditCheck, name: string) => id === name || id.startsWith(`${name}.`);
