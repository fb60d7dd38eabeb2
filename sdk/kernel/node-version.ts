/** The oldest Node that all of this is tested on; `engines` of every package says the same. */
export const oldestNode = "20.19.0";

/**
 * What is wrong when an older Node runs this, for the function that users call first: otherwise the first thing that is
 * missing ends some later call. `undefined` for a newer one, and for another runtime.
 */
export function nodeProblem(
  { node, bun, deno }: Readonly<Record<string, string | undefined>> = globalThis.process?.versions ?? {},
): string | undefined {
  if (node === undefined || bun !== undefined || deno !== undefined) return undefined;
  if (numberOf(node) >= numberOf(oldestNode)) return undefined;
  return `expected Node ${oldestNode} or newer, got ${node}; update Node`;
}

/** Grows with the version. */
const numberOf = (version: string) =>
  version.split(".").reduce((sum, part) => 1_000 * sum + Number.parseInt(part, 10), 0);
