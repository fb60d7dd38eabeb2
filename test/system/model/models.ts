import type { CheckedModel, ModelCheck } from "./check-model.ts";

export interface NamedCheck extends ModelCheck {
  readonly name: string;
  /** It takes about a second and runs in every `npm test`. */
  readonly isSmall?: true;
}

const noFaults = { CRASHES: 0, PAUSES: 0, FAILURES: 0, RELEASES: 0, LOSSES: 0, ADVANCES: 0, LOST_CLAIMS: 0 };

/** What is checked, with the bounds that differ from those in the models. */
export const modelChecks: readonly NamedCheck[] = [
  { name: "workers", model: "workers", bounds: { LOST_CLAIMS: 0 }, isSmall: true },
  { name: "workers, the database loses a claim", model: "workers" },
  {
    name: "workers, three attempts and two crashes",
    model: "workers",
    bounds: { ATTEMPTS: 3, CRASHES: 2, LOST_CLAIMS: 0, LEASE: 2 },
  },
  {
    name: "workers, two pauses",
    model: "workers",
    bounds: { PAUSES: 2, CRASHES: 0, LOST_CLAIMS: 0, RETRY: 2 },
  },
  { name: "workers, three rows", model: "workers", bounds: { ROWS: 3, LOST_CLAIMS: 0 } },
  { name: "three workers", model: "workers", bounds: { WORKERS: 3, LOST_CLAIMS: 0 } },
  {
    name: "workers, three rows without faults end",
    model: "workers",
    property: "liveness",
    bounds: { ...noFaults, ROWS: 3 },
    isSmall: true,
  },
  { name: "workers end", model: "workers", property: "liveness", bounds: { LOST_CLAIMS: 0 } },
];

/** The invariants of docs/maintainers/proof.md, by a part of the assertion that states them. */
const invariants: readonly (readonly [invariant: string, assertion: RegExp])[] = [
  ["I3", />\s*applied\[/],
  ["K1", /handled\[w_\]/],
  ["A1", /started\[|attempts\)?\s*>=/],
  ["I4", /effects\[/],
  ["E1", /\.head\)?\s*>=/],
  ["I5", /acceptance cycle|row\[0\]\.state==\d.*row\[/],
];

/** The invariant that was violated. */
export function violatedBy({ violation }: CheckedModel): string | undefined {
  return violation === undefined
    ? undefined
    : (invariants.find(([, text]) => text.test(violation))?.[0] ?? violation);
}
