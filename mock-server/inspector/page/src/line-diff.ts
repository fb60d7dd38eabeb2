/** Lines of two texts side by side; `null` where one of them has no such line. */
export interface LinePair {
  readonly left: string | null;
  readonly right: string | null;
}

/** The table of the search has as many cells as the product of the lines that differ. */
const cellsMax = 1_000_000;

/** Equal lines face each other; a changed line faces the one that replaced it. */
export function diffLines(left: string, right: string): readonly LinePair[] {
  const [a, b] = [left.split("\n"), right.split("\n")];
  let start = 0;
  while (start < Math.min(a.length, b.length) && a[start] === b[start]) start++;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const same = (lines: readonly string[]) => lines.map((line) => ({ left: line, right: line }));
  const middle = [a.slice(start, a.length - end), b.slice(start, b.length - end)] as const;
  return [...same(a.slice(0, start)), ...diffMiddle(...middle), ...same(a.slice(a.length - end))];
}

function diffMiddle(a: readonly string[], b: readonly string[]): readonly LinePair[] {
  if (a.length * b.length > cellsMax) return facing(a, b);
  const lengths = commonLengths(a, b);
  const at = (i: number, j: number) => lengths[i]?.[j] ?? 0;
  const pairs: LinePair[] = [];
  let [i, j] = [0, 0];
  let removed: string[] = [];
  let added: string[] = [];
  const flush = () => {
    pairs.push(...facing(removed, added));
    [removed, added] = [[], []];
  };
  while (i < a.length || j < b.length) {
    if (i < a.length && a[i] === b[j]) {
      flush();
      pairs.push({ left: a[i] ?? null, right: b[j] ?? null });
      i++;
      j++;
    } else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) removed.push(a[i++] ?? "");
    else added.push(b[j++] ?? "");
  }
  flush();
  return pairs;
}

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

const facing = (a: readonly string[], b: readonly string[]): readonly LinePair[] =>
  Array.from({ length: Math.max(a.length, b.length) }, (_, index) => ({
    left: a[index] ?? null,
    right: b[index] ?? null,
  }));

/** Length of the longest common subsequence from each pair of lines on. */
function commonLengths(a: readonly string[], b: readonly string[]): readonly Uint32Array[] {
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    const [row, below] = [lengths[i] as Uint32Array, lengths[i + 1] as Uint32Array];
    for (let j = b.length - 1; j >= 0; j--) {
      row[j] = a[i] === b[j] ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  return lengths;
}
