import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { isPlainStatement, locksRows } from "../sql/plain-statement.ts";

const textsMax = 1_000;
const lengthMax = 10_000;
/** When a receiver has sent so many statements, only those that come a second time are learned. */
const distinctMax = 100;
/** How long nothing is taken to be plain after hidden code was found. */
const pauseMs = 60_000;
/** How often the statements that follow one are learned. */
const continuedMax = 3;

/**
 * The statements of handlers that are known to leave nothing in the session: their text is plain, and the server has found
 * no hidden code in what they touched.
 */
export class PlainStatements {
  readonly #clock: Clock;
  readonly #candidates = new Map<string, boolean>();
  readonly #known = new Set<string>();
  /** The first of several. */
  readonly #followed = new Set<string>();
  /** The first of several of which others are not known, and how often one had to be learned. */
  readonly #incomplete = new Set<string>();
  readonly #continued = new Map<string, number>();
  /** Candidates in whose transaction hidden code was found, which may be that of another one. */
  readonly #suspects = new Set<string>();
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

  /**
   * Whether what the server has found about these statements of a handler would be new, and of use: an application that
   * writes values into its statements never repeats one.
   */
  isWorthLearning(texts: readonly string[]): boolean {
    const mayRepeat =
      this.#candidates.size < distinctMax || texts.every((text) => this.#candidates.has(text));
    return (
      texts.map((text) => this.#isCandidate(text)).every(Boolean) &&
      mayRepeat &&
      texts.some((text) => !this.#known.has(text)) &&
      this.#clock.monotonic() >= this.#pausedUntilMs
    );
  }

  learn(texts: readonly string[]): void {
    this.#bound();
    for (const text of texts) {
      this.#known.add(text);
      this.#suspects.delete(text);
    }
    const [first] = texts;
    if (first === undefined || texts.length === 1) return;
    this.#followed.add(first);
    if ((this.#continued.get(first) ?? 0) <= continuedMax) this.#incomplete.delete(first);
  }

  /** Whether it has to be learned in a transaction that has no other first statement. */
  isSuspect(text: string): boolean {
    return this.#suspects.has(text);
  }

  /** Hidden code was found in what was touched by an event with these, or, unless it was the only kind, by another one. */
  suspect([first]: readonly string[], isOnlyKind: boolean): void {
    if (first === undefined) return;
    this.#bound();
    if (!isOnlyKind) {
      this.#suspects.add(first);
      return;
    }
    this.#suspects.delete(first);
    this.#candidates.set(first, false);
  }

  /** Whether an event that begins with it is likely to have only known ones. */
  beginsPlain(text: string): boolean {
    return this.#known.has(text) && !this.#incomplete.has(text);
  }

  /** A handler has sent what is not known after `first`. Until that is learned, each such event would run twice. */
  addIncomplete(first: string): void {
    if (this.#incomplete.has(first)) return;
    this.#bound();
    this.#incomplete.add(first);
    this.#continued.set(first, 1 + (this.#continued.get(first) ?? 0));
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
    const seen = [this.#candidates, this.#known, this.#followed, this.#incomplete, this.#continued];
    for (const texts of [...seen, this.#suspects]) if (texts.size >= textsMax) texts.clear();
  }
}
