import type { InboxClaim } from "../../inbox.ts";

/**
 * How many keys a claim locks to get its rows. Keys with more rows than it may take cost as much as those that it takes;
 * with too few, the next claim follows at once.
 */
export class ClaimSize {
  #rowsPerKey = 1;

  keysFor(rowsMax: number): number {
    return Math.min(rowsMax, Math.ceil((rowsMax * spare) / this.#rowsPerKey));
  }

  observe(claims: readonly InboxClaim[]): void {
    if (claims.length === 0) return;
    this.#rowsPerKey = claims.length / new Set(claims.map(({ lease }) => lease)).size;
  }
}

/** Keys that another worker has locked, or whose rows are not due, are skipped. */
const spare = 1.1;
