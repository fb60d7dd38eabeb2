import { UnreachableError } from "../target/errors.ts";
import { type CheckTable, failed } from "./check.ts";
import { mustAcknowledge } from "./probe-check.ts";

export const firstChecks: CheckTable = {
  "baseline.valid-delivery": mustAcknowledge({
    title: "acknowledges a valid delivery",
    sent: "a new, correctly signed task event",
    fix: "No other check has a meaning until a valid delivery is acknowledged.",
    probes: (target) => target.compose(),
  }),
};

const stillResponding = mustAcknowledge({
  stage: "last",
  title: "still acknowledges a valid delivery after all other checks",
  sent: "a new, correctly signed task event, after all other checks",
  fix: "An earlier request stopped the receiver: read its log, and use --only to find the request.",
  probes: (target) => target.compose(),
});

export const lastChecks: CheckTable = {
  "baseline.still-responding": {
    ...stillResponding,
    /** Only here a failure to connect is a finding. */
    run: (target) =>
      stillResponding.run(target).catch((error: unknown) => {
        if (error instanceof UnreachableError) return failed(error.message);
        throw error;
      }),
  },
};
