import { rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundle, createBundleFolder } from "../../support/bundled-program.ts";

export interface Bundle<Module> extends Disposable {
  readonly module: Module;
}

/**
 * Bundles a source of this repository with everything of the repository that it imports, and imports the result.
 *
 * @param entry from the root of the repository
 * @param sources texts that replace those of the files at these absolute paths
 */
export async function importBundle<Module>(
  entry: string,
  sources: ReadonlyMap<string, string> = new Map(),
): Promise<Bundle<Module>> {
  const folder = createBundleFolder("bundle");
  const file = join(folder, "bundle.mjs");
  await bundle({ entry, file, sources });
  const module = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as Module;
  return { module, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}
