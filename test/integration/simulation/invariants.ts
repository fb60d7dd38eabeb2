import { settingsOf } from "./settings.ts";
import type { SimulationReport } from "./simulation.ts";

export const invariants = {
  I1: "an acknowledged delivery is durable",
  I2: "one row per source and webhook-id",
  I3: "an ordering head, and the state that handlers write, never moves back",
  I4: "a transactional effect takes place once",
  I5: "every accepted row ends as done, stale, dead or quarantined",
  I6: "every genuine delivery is stored, and nothing else",
  C1: "a clock that is set starts no event a second time",
  C2: "no ordering head lies in the far future",
  L1: "the rate limit is never exceeded",
  L2: "no rate limit slot is held during a token exchange",
  Q1: "an event whose details are odd is handled all the same",
  R1: "reconciling asks for every task that may be behind, however many there are",
  T1: "no tenant's delivery reaches another tenant",
  W1: "no call and no wait exceeds its time limit",
  O1: "a mutation took effect as its outcome says",
  O2: "every error of the SDK has a code and an outcome",
  E1: "at the end the receiver's state equals the service's",
} as const;

export type Invariant = keyof typeof invariants;

export interface Violation {
  readonly invariant: Invariant;
  readonly message: string;
}

/** A failed run in words: the violation, the settings of the seed, the last trace lines, the command that repeats it. */
export function formatFailure(report: SimulationReport): string {
  const { seed, steps, violation, traceTail } = report;
  if (!violation) throw new Error(`seed ${seed}: expected a violation, got none`);
  return [
    `seed ${seed}, step ${steps}: violation of ${violation.invariant} (${invariants[violation.invariant]})`,
    `  ${violation.message}`,
    `settings: ${JSON.stringify(settingsOf(seed), null, 2)}`,
    `the last ${traceTail.length} events, with simulated seconds since the start:`,
    ...traceTail.map((line) => `  ${line}`),
    `repeat: npm run simulate -- --seed ${seed}`,
  ].join("\n");
}
