import { closest, distance } from "fastest-levenshtein";

/** `; did you mean --store?`, or nothing when no known name is near. */
export function didYouMean(given: string, known: readonly string[]): string {
  if (known.length === 0) return "";
  const nearest = closest(given, known);
  return distance(given, nearest) <= Math.max(2, given.length / 3) ? `; did you mean ${nearest}?` : "";
}
