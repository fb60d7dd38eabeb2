/** `; did you mean --store?`, or nothing when no known name is near: at most a third of the letters differ, but two may. */
export function didYouMean(given: string, known: readonly string[]): string {
  const edits = (name: string) => editDistance(name.toLowerCase(), given.toLowerCase());
  const [nearest = ""] = known.toSorted((a, b) => edits(a) - edits(b));
  const editsMax = Math.min(given.length - 1, Math.max(2, given.length / 3));
  return edits(nearest) <= editsMax ? `; did you mean ${nearest}?` : "";
}

/** The letters to insert, delete or replace that make one text of the other (Levenshtein). */
export function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let index = 0; index < from.length; index += 1) {
    const next = [index + 1];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (to[column - 1] === from[index] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
