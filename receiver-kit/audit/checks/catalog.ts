import { closest } from "fastest-levenshtein";
import { ReceiverError } from "../../errors.ts";
import { firstChecks, lastChecks } from "./baseline.ts";
import { bodyChecks } from "./bodies.ts";
import type { AuditCheck } from "./check.ts";
import { contentTypeChecks } from "./content-type.ts";
import { duplicateChecks } from "./duplicates.ts";
import { eventChecks } from "./events.ts";
import { headerChecks } from "./headers.ts";
import { limitChecks } from "./limits.ts";
import { methodChecks } from "./methods.ts";
import { orderChecks } from "./order.ts";
import { responseChecks } from "./responses.ts";
import { rotationChecks } from "./rotation.ts";
import { signatureChecks } from "./signature.ts";
import { slowChecks } from "./slow.ts";
import { timestampChecks } from "./timestamp.ts";
import { transferChecks } from "./transfer.ts";

/** Every check, in the order of reports. */
export const auditChecks: readonly AuditCheck[] = Object.entries({
  ...firstChecks,
  ...signatureChecks,
  ...timestampChecks,
  ...headerChecks,
  ...rotationChecks,
  ...duplicateChecks,
  ...orderChecks,
  ...eventChecks,
  ...bodyChecks,
  ...contentTypeChecks,
  ...transferChecks,
  ...slowChecks,
  ...limitChecks,
  ...methodChecks,
  ...responseChecks,
  ...lastChecks,
}).map(([id, check]) => ({ id, ...check }));

/**
 * The checks that `only` names: whole ids, or subjects such as `signature`. All of them when it is empty.
 *
 * @throws {ReceiverError} `CONFIGURATION_INVALID` when no check has such a name
 */
export function selectChecks(only: readonly string[]): readonly AuditCheck[] {
  for (const name of only) {
    if (auditChecks.some((check) => isNamed(check, name))) continue;
    const nearest = closest(
      name,
      auditChecks.flatMap(({ id }) => [id, id.replace(/\..*/, "")]),
    );
    const expected = `expected the id or the subject of a check, got ${JSON.stringify(name)}`;
    throw new ReceiverError(
      "CONFIGURATION_INVALID",
      `auditReceiver: only: ${expected}; did you mean ${nearest}?`,
    );
  }
  return only.length === 0 ? auditChecks : auditChecks.filter((c) => only.some((name) => isNamed(c, name)));
}

function isNamed({ id }: AuditCheck, name: string): boolean {
  return id === name || id.startsWith(`${name}.`);
}
