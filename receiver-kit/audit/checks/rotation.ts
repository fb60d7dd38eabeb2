import type { Delivery } from "../target/signing.ts";
import type { Target } from "../target/target.ts";
import { type CheckDefinition, type CheckTable, skipped } from "./check.ts";
import { labelled, listed, mustAcknowledge, mustReject } from "./probe-check.ts";

const everyToken =
  "Split webhook-signature at spaces and accept when any `v1` token matches any active secret; during a rotation each delivery has one per secret.";

function withOldSecret(check: CheckDefinition): CheckDefinition {
  return {
    ...check,
    run: async (target) =>
      target.oldSecret === undefined ? skipped("needs --old-secret") : check.run(target),
  };
}

const signByOldSecret = ({ signing, oldSecret = "" }: Target, delivery: Delivery) =>
  signing.sign(delivery, oldSecret);

export const rotationChecks: CheckTable = {
  "rotation.second-of-list": mustAcknowledge({
    title: "accepts a list whose second signature is correct",
    sent: "a delivery with two signatures, the first by a key the receiver does not have",
    fix: everyToken,
    probes: (target) => listed(target, "xo"),
  }),
  "rotation.first-of-list": mustAcknowledge({
    title: "accepts a list whose first signature is correct",
    sent: "a delivery with two signatures, the second by a key the receiver does not have",
    fix: everyToken,
    probes: (target) => listed(target, "ox"),
  }),
  "rotation.ten-wrong-then-right": mustAcknowledge({
    title: "accepts a correct signature after ten wrong ones",
    sent: "a delivery with eleven signatures, of which the last is correct",
    fix: `${everyToken} Several rotations within one grace period make the list longer than two.`,
    probes: (target) => listed(target, "xxxxxxxxxxo"),
  }),
  "rotation.unknown-version-beside": mustAcknowledge({
    title: "ignores signatures of other versions beside a correct one",
    sent: "a delivery with a v1a and a v9 token in front of the correct v1 token",
    fix: "Skip tokens of a version you do not know; the list is how new versions are introduced.",
    probes(target) {
      const delivery = target.compose();
      const other = Buffer.alloc(64, 7).toString("base64");
      return { ...delivery, signature: `v1a,${other} v9,AAAA ${delivery.signature}` };
    },
  }),
  "rotation.all-wrong": mustReject({
    title: "rejects a list without a correct signature",
    sent: "a delivery with three signatures by keys the receiver does not have",
    fix: "Having several signatures proves nothing; one of them must match.",
    probes: (target) => listed(target, "xxx"),
  }),
  "rotation.old-secret": withOldSecret(
    mustAcknowledge({
      title: "accepts the old secret during the grace period",
      sent: "a delivery signed with the secret given as --old-secret only",
      fix: "Keep the old secret beside the new one until the grace period (a day by default) is over.",
      probes(target) {
        const delivery = target.compose();
        return { ...delivery, signature: signByOldSecret(target, delivery) };
      },
    }),
  ),
  "rotation.both-secrets": withOldSecret(
    mustAcknowledge({
      title: "accepts deliveries signed with both secrets",
      sent: "deliveries with a signature by each secret, in both orders",
      fix: everyToken,
      probes: (target) =>
        labelled({ "new first": false, "old first": true }, (isReversed) => {
          const delivery = target.compose();
          const tokens = [delivery.signature, signByOldSecret(target, delivery)];
          return { ...delivery, signature: (isReversed ? tokens.toReversed() : tokens).join(" ") };
        }),
    }),
  ),
};
