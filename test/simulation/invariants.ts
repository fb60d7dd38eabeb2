export const invariants = {
  I1: "acknowledged means durable",
  I2: "one row per source and webhook-id",
  I3: "an ordering head, and what state handlers see, never goes back",
  I4: "a transactional effect takes place once",
  I5: "every accepted row ends done, stale, dead or quarantined",
  I6: "what is genuine is stored and nothing else",
  L1: "the allowance is never overrun",
  L2: "a slot is taken by a request, not by the exchange before it",
  W1: "no wait exceeds its stated maximum",
  O1: "a mutation took effect as its outcome says",
  O2: "every failure of the SDK is typed",
  E1: "at the end the receiver's state is the service's",
} as const;

export type Invariant = keyof typeof invariants;
export type Violation = { readonly invariant: Invariant; readonly message: string };

/** Keeps the first violation; a run ends with the step in which it happened. */
export interface Judge {
  readonly violation: Violation | undefined;
  /** Violated when `holds` is false; the message is made only then. */
  expect(holds: boolean, invariant: Invariant, message: () => string): void;
}

export function createJudge(note: (line: string) => void): Judge {
  let violation: Violation | undefined;
  return {
    get violation() {
      return violation;
    },
    expect(holds, invariant, message) {
      if (holds || violation) return;
      violation = { invariant, message: message() };
      note(`VIOLATED ${invariant}: ${violation.message}`);
    },
  };
}
