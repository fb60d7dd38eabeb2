import { version } from "./version.ts";

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
