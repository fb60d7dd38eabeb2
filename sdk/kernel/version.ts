/** The version of every package, built into each; a test compares it with the manifests. */
export const version = "0.1.0";

/**
 * What is wrong when a package and one that it uses are of different releases, and what to do; `undefined` when they are of
 * one. Their entry points for each other change with any release. A package calls it in the function that its users call
 * first: a module without side effects is left out of bundles.
 *
 * @param dependent the name of the package that calls
 * @param found the version that the other package exports
 */
export function versionMismatch(
  dependent: string,
  dependency: string,
  found: string | undefined,
): string | undefined {
  if (found === version) return undefined;
  return (
    `expected ${dependency} ${version}, the version of ${dependent}, got ${found ?? "one that names no version"}; ` +
    `install the same version of both: npm install ${dependent}@${version} ${dependency}@${version}`
  );
}

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
