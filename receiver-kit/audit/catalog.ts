import type { AuditCheck } from "./check.ts";
import { answerChecks } from "./checks/answers.ts";
import { stillAnsweringCheck, validDeliveryCheck } from "./checks/baseline.ts";
import { bodyChecks } from "./checks/bodies.ts";
import { contentTypeChecks } from "./checks/content-type.ts";
import { duplicateChecks } from "./checks/duplicates.ts";
import { eventChecks } from "./checks/events.ts";
import { headerChecks } from "./checks/headers.ts";
import { limitChecks } from "./checks/limits.ts";
import { methodChecks } from "./checks/methods.ts";
import { orderChecks } from "./checks/order.ts";
import { rotationChecks } from "./checks/rotation.ts";
import { signatureChecks } from "./checks/signature.ts";
import { slowChecks } from "./checks/slow.ts";
import { timestampChecks } from "./checks/timestamp.ts";
import { transferChecks } from "./checks/transfer.ts";

/** Every check, in the order of reports. */
export const auditChecks: readonly AuditCheck[] = [
  validDeliveryCheck,
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
  ...answerChecks,
  stillAnsweringCheck,
];

/**
 * The checks that `only` names: whole ids, or subjects such as `signature`. All of them when it is empty.
 *
 * @throws {RangeError} when a name fits no check
 */
export function selectChecks(only: readonly string[]): readonly AuditCheck[] {
  for (const name of only) {
    if (!auditChecks.some((check) => isNamed(check, name))) {
      throw new RangeError(`expected the id or the subject of a check, got ${JSON.stringify(name)}`);
    }
  }
  return only.length === 0 ? auditChecks : auditChecks.filter((c) => only.some((name) => isNamed(c, name)));
}

function isNamed({ id }: AuditCheck, name: string): boolean {
  return id === name || id.startsWith(`${name}.`);
}
