import { diffArrays } from "diff";

/** Lines of two texts side by side; `null` where one of them has no such line. */
export interface LinePair {
  readonly left: string | null;
  readonly right: string | null;
}

/** Lines that were added or removed, at most: the search takes time quadratic in them. */
const changedLinesMax = 2_000;

/** Equal lines face each other; a changed line faces the one that replaced it. */
export function diffLines(left: string, right: string): readonly LinePair[] {
  const [a, b] = [left.split("\n"), right.split("\n")];
  const changes = diffArrays(a, b, { maxEditLength: changedLinesMax });
  if (!changes) return facing(a, b);
  const pairs: LinePair[] = [];
  let removed: readonly string[] = [];
  let added: readonly string[] = [];
  const flush = () => {
    pairs.push(...facing(removed, added));
    [removed, added] = [[], []];
  };
  for (const change of changes) {
    if (change.removed) removed = change.value;
    else if (change.added) added = change.value;
    else {
      flush();
      pairs.push(...facing(change.value, change.value));
    }
  }
  flush();
  return pairs;
}

const facing = (a: readonly string[], b: readonly string[]): readonly LinePair[] =>
  Array.from({ length: Math.max(a.length, b.length) }, (_, index) => ({
    left: a[index] ?? null,
    right: b[index] ?? null,
  }));

/** Equal lines that are not beside a difference. */
export interface EqualRun {
  readonly equalLines: readonly LinePair[];
}

const contextLines = 3;

/** Long runs of equal lines become one entry: what differs is in sight. */
export function foldEqual(pairs: readonly LinePair[]): readonly (LinePair | EqualRun)[] {
  const isNear = new Uint8Array(pairs.length);
  for (const [index, { left, right }] of pairs.entries()) {
    if (left !== right) isNear.fill(1, Math.max(0, index - contextLines), index + contextLines + 1);
  }
  const folded: (LinePair | EqualRun)[] = [];
  for (let start = 0; start < pairs.length; ) {
    let end = start;
    while (end < pairs.length && isNear[end] === isNear[start]) end++;
    const run = pairs.slice(start, end);
    if (isNear[start] === 0 && run.length > 2 * contextLines) folded.push({ equalLines: run });
    else folded.push(...run);
    start = end;
  }
  return folded;
}
