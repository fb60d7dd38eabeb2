import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { isPlainStatement, locksRows } from "../sql/plain-statement.ts";

const textsMax = 1_000;
const lengthMax = 10_000;
/** When a receiver has sent so many statements, only those that come a second time are learned. */
const distinctMax = 100;
/** How long nothing is taken to be plain after hidden code was found. */
const pauseMs = 60_000;
/** How often a statement is learned again that was followed by one that was not known. */
const surprisesMax = 3;

/**
 * The statements of handlers that are known to leave nothing in the session: their text is plain, and the server has found
 * no hidden code in what they touched.
 */
export class PlainStatements {
  readonly #clock: Clock;
  /** Whether a text may be plain: not after hidden code was found in what it touched. */
  readonly #candidates = new Map<string, boolean>();
  readonly #known = new Set<string>();
  /** The first of several. */
  readonly #followed = new Set<string>();
  /** Known ones that were followed by one that was not, until both are learned. */
  readonly #incomplete = new Set<string>();
  /** How often that has happened. */
  readonly #surprises = new Map<string, number>();
  #pausedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isKnown(text: string): boolean {
    return this.#known.has(text);
  }

  /**
   * Whether a handler that sends it has so far sent no other one. Events that have their turns together exclude each other
   * from nothing: one that asks for a lock of a row may rely on it.
   */
  isSingle(text: string): boolean {
    return this.#known.has(text) && !this.#followed.has(text) && !locksRows(text);
  }

  addFollowed(text: string): void {
    this.#bound();
    this.#followed.add(text);
  }

  /** Whether an event that begins with it is likely to have only known ones. */
  beginsPlain(text: string): boolean {
    return this.#known.has(text) && !this.#incomplete.has(text);
  }

  /** A handler has sent what is not known after `first`. Until both are learned, each such event would run twice. */
  addSurprise(first: string): void {
    if (this.#incomplete.has(first)) return;
    this.#bound();
    this.#incomplete.add(first);
    this.#surprises.set(first, 1 + (this.#surprises.get(first) ?? 0));
  }

  /**
   * Whether what the server finds where events begin with it would be new, and of use: an application that writes values
   * into its statements never repeats one.
   */
  isWorthLearning(first: string): boolean {
    const mayRepeat = this.#candidates.size < distinctMax || this.#candidates.has(first);
    return (
      this.#isCandidate(first) &&
      mayRepeat &&
      !this.beginsPlain(first) &&
      (this.#surprises.get(first) ?? 0) <= surprisesMax &&
      this.#clock.monotonic() >= this.#pausedUntilMs
    );
  }

  /** An event has sent these. `isPlain`: no hidden code is in what was touched by it, and by others that begin with the first. */
  learn(texts: readonly string[], isPlain: boolean): void {
    const [first] = texts;
    if (first === undefined) return;
    this.#bound();
    if (!isPlain || !texts.every((text) => this.#isCandidate(text))) {
      this.#candidates.set(first, false);
      this.#known.delete(first);
      return;
    }
    for (const text of texts) this.#known.add(text);
    this.#incomplete.delete(first);
    if (texts.length > 1) this.#followed.add(first);
  }

  /** A transaction of known ones has run hidden code, which is new. */
  forget(): void {
    this.#known.clear();
    this.#pausedUntilMs = this.#clock.monotonic() + pauseMs;
  }

  #isCandidate(text: string): boolean {
    if (text.length > lengthMax) return false;
    const before = this.#candidates.get(text);
    if (before !== undefined) return before;
    this.#bound();
    const isCandidate = isPlainStatement(text);
    this.#candidates.set(text, isCandidate);
    return isCandidate;
  }

  #bound(): void {
    const seen = [this.#candidates, this.#known, this.#followed, this.#incomplete, this.#surprises];
    for (const texts of seen) if (texts.size >= textsMax) texts.clear();
  }
}
