import type { Target } from "../target/target.ts";
import { type AuditCheck, skipped } from "./check.ts";
import { acknowledgedCheck, refusedCheck, type Shot } from "./probe-check.ts";

const schemes = ["standard-webhooks"] as const;
const everyToken =
  "Split webhook-signature at spaces and accept when any `v1` token matches any active secret; during a rotation each delivery carries one per secret.";

/** A delivery whose signature list is made from wrong tokens (`x`) and the right one (`o`). */
function listed(target: Target, pattern: string): Shot {
  const delivery = target.compose();
  const tokens = [...pattern].map((kind, index) =>
    kind === "o" ? delivery.signature : target.signForged({ ...delivery, body: Buffer.from(`${index}`) }),
  );
  return { delivery: { ...delivery, signature: tokens.join(" ") } };
}

function withOldSecret(check: AuditCheck): AuditCheck {
  return {
    ...check,
    run: async (target) =>
      target.oldSecret === undefined ? skipped("needs --old-secret") : check.run(target),
  };
}

export const rotationChecks: readonly AuditCheck[] = [
  acknowledgedCheck({
    id: "rotation.second-of-list",
    requirement: "MUST",
    title: "accepts a list whose second signature is right",
    schemes,
    sent: "a delivery with two signatures, the first by a key the receiver does not have",
    mend: everyToken,
    shots: (target) => [listed(target, "xo")],
  }),
  acknowledgedCheck({
    id: "rotation.first-of-list",
    requirement: "MUST",
    title: "accepts a list whose first signature is right",
    schemes,
    sent: "a delivery with two signatures, the second by a key the receiver does not have",
    mend: everyToken,
    shots: (target) => [listed(target, "ox")],
  }),
  acknowledgedCheck({
    id: "rotation.ten-wrong-then-right",
    requirement: "MUST",
    title: "accepts a right signature behind ten wrong ones",
    schemes,
    sent: "a delivery with eleven signatures, of which the last is right",
    mend: `${everyToken} Several rotations within one grace period make the list longer than two.`,
    shots: (target) => [listed(target, "xxxxxxxxxxo")],
  }),
  acknowledgedCheck({
    id: "rotation.unknown-version-beside",
    requirement: "MUST",
    title: "ignores signatures of other versions beside a right one",
    schemes,
    sent: "a delivery with a v1a and a v9 token in front of the right v1 token",
    mend: "Skip tokens of a version you do not know; the list is how new versions are introduced.",
    shots: (target) => {
      const delivery = target.compose();
      const other = Buffer.alloc(64, 7).toString("base64");
      return [{ delivery: { ...delivery, signature: `v1a,${other} v9,AAAA ${delivery.signature}` } }];
    },
  }),
  refusedCheck({
    id: "rotation.all-wrong",
    requirement: "MUST",
    title: "refuses a list without a right signature",
    schemes,
    sent: "a delivery with three signatures by keys the receiver does not have",
    mend: "Having several signatures proves nothing; one of them has to match.",
    shots: (target) => [listed(target, "xxx")],
  }),
  withOldSecret(
    acknowledgedCheck({
      id: "rotation.old-secret",
      requirement: "MUST",
      title: "accepts the old secret during the grace period",
      schemes,
      sent: "a delivery signed with the secret given as --old-secret only",
      mend: "Keep the old secret beside the new one until the grace period (a day by default) is over.",
      shots: (target) => {
        const delivery = target.compose();
        const signature = target.signWithSecret(delivery, target.oldSecret ?? "");
        return [{ delivery: { ...delivery, signature } }];
      },
    }),
  ),
  withOldSecret(
    acknowledgedCheck({
      id: "rotation.both-secrets",
      requirement: "MUST",
      title: "accepts deliveries signed with both secrets",
      schemes,
      sent: "deliveries with a signature by each secret, in both orders",
      mend: everyToken,
      shots: (target) => {
        const orders = ["new first", "old first"] as const;
        return orders.map((label) => {
          const delivery = target.compose();
          const tokens = [delivery.signature, target.signWithSecret(delivery, target.oldSecret ?? "")];
          const inOrder = label === "new first" ? tokens : tokens.toReversed();
          return { label, delivery: { ...delivery, signature: inOrder.join(" ") } };
        });
      },
    }),
  ),
];
