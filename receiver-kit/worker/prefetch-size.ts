// How many rows a worker has at a time, running and waiting for a free slot. Rows that wait here cannot be handled by
// another process, so slow handlers get no more rows than slots; quick ones get as many as they handle while the next
// claim is in flight.

/** A claim whose rows are used up within this time was too small. */
const tooQuickMs = 200;
const tooSlowMs = 1_000;
const rowsMax = 512;

export class PrefetchSize {
  rows: number;
  readonly #concurrency: number;
  #rowsMin: number;

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
    this.#rowsMin = concurrency;
    this.rows = concurrency;
  }

  /** Enough rows for a batch. */
  atLeast(rows: number): void {
    this.#rowsMin = Math.max(this.#rowsMin, Math.min(rowsMax, rows));
    this.rows = Math.max(this.rows, this.#rowsMin);
  }

  /** Enough for a chain in every slot. */
  get rowsPerKey(): number {
    return Math.max(1, Math.floor(this.rows / this.#concurrency));
  }

  /** The rows of a claim that returned as many as requested were used up after this time. */
  usedUpAfter(elapsedMs: number): void {
    const { max, min } = Math;
    if (elapsedMs < tooQuickMs) this.rows = max(this.#rowsMin, min(rowsMax, this.rows * 2));
    else if (elapsedMs > tooSlowMs) this.rows = max(this.#rowsMin, this.rows >> 1);
  }
}
