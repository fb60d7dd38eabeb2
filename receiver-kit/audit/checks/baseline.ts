import { UnreachableError } from "../target/target.ts";
import { type AuditCheck, failed } from "./check.ts";
import { acknowledgedCheck } from "./probe-check.ts";

export const validDeliveryCheck: AuditCheck = acknowledgedCheck({
  id: "baseline.valid-delivery",
  requirement: "MUST",
  title: "acknowledges a valid delivery",
  sent: "a fresh, rightly signed task event",
  mend: "Nothing else can be judged until a valid delivery is acknowledged.",
  shots: (target) => [{ delivery: target.compose() }],
});

const stillAnswering = acknowledgedCheck({
  id: "baseline.still-answering",
  requirement: "MUST",
  stage: "last",
  title: "still acknowledges a valid delivery after all of this",
  sent: "a fresh, rightly signed task event, after all other checks",
  mend: "Something sent before stopped the receiver: look into its log, and use --only to find out what it was.",
  shots: (target) => [{ delivery: target.compose() }],
});

/** Unlike anywhere else, not being able to connect is a finding here. */
export const stillAnsweringCheck: AuditCheck = {
  ...stillAnswering,
  run: (target) =>
    stillAnswering.run(target).catch((error: unknown) => {
      if (error instanceof UnreachableError) return failed(error.message);
      throw error;
    }),
};
