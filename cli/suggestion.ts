import { distance } from "fastest-levenshtein";

/** `; did you mean --store?`, or nothing when no known name is near. */
export function didYouMean(given: string, known: readonly string[]): string {
  const edits = (name: string) => distance(name.toLowerCase(), given.toLowerCase());
  const [nearest = ""] = known.toSorted((a, b) => edits(a) - edits(b));
  const editsMax = Math.min(given.length - 1, Math.max(2, given.length / 3));
  return edits(nearest) <= editsMax ? `; did you mean ${nearest}?` : "";
}
