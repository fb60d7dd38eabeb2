import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { bundle, createBundleFolder } from "../../support/bundled-program.ts";
import type * as Simulation from "./run-seeds.ts";

/** A change of a product's source text. It names no file: the text must occur once in all products. */
export interface Patch {
  readonly find: string;
  readonly replace: string;
}

interface NamedPatches {
  readonly name: string;
  readonly patches: readonly Patch[];
  /** Makes the private fields of classes public, as `private_name`. Default false. */
  readonly exposesPrivate?: boolean | undefined;
}

const products = ["sdk", "receiver-kit"] as const;
const root = resolve(import.meta.dirname, "../../..");

/**
 * Patches the text of the products' sources, bundles the result, and imports it. Patched text and not a mocked module,
 * because a mutant changes a comparison or an argument, and neither is an export. One bundle, because importing a
 * hundred sources costs more than most simulations.
 *
 * @throws Error when a patch does not match the sources
 */
export async function importPatched<Module>(
  product: (typeof products)[number],
  { name, patches, exposesPrivate = false }: NamedPatches,
  entry = "index.ts",
): Promise<Bundle<Module>> {
  const sources = patchedSources({ name, patches });
  if (exposesPrivate) exposePrivate(sources);
  return importBundle<Module>(join(product, entry), sources);
}

/** @throws Error when a patch does not match the sources */
export function patchedSources({ name, patches }: NamedPatches): Map<string, string> {
  const sources = readSources();
  for (const patch of patches) applyPatch(sources, name, patch);
  return sources;
}

function exposePrivate(sources: Map<string, string>): void {
  for (const [path, text] of sources) {
    // PL/pgSQL has a directive that looks like a private field.
    sources.set(path, text.replace(/(?<=^|[\s.(!{;*])#(?!variable_conflict)(?=[a-z]\w*)/gm, "private_"));
  }
}

/** The text of each source by its absolute path. */
function readSources(): Map<string, string> {
  const paths = products.flatMap((product) =>
    readdirSync(join(root, product), { recursive: true, encoding: "utf8" }).map((path) =>
      join(root, product, path),
    ),
  );
  return new Map(
    paths.filter((path) => path.endsWith(".ts")).map((path) => [path, readFileSync(path, "utf8")]),
  );
}

function applyPatch(sources: Map<string, string>, mutant: string, { find, replace }: Patch): void {
  const matches = [...sources].flatMap(([path, text]) =>
    text
      .split(find)
      .slice(1)
      .map(() => path),
  );
  const [path] = matches;
  if (path !== undefined && matches.length === 1) {
    sources.set(
      path,
      sources.get(path)!.replace(find, () => replace),
    );
    return;
  }
  const places = matches.length > 0 ? matches.map((place) => relative(root, place)).join(", ") : "nowhere";
  throw new Error(`mutant ${mutant}: expected its text once in the sources, found it ${places}: ${find}`);
}

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

/**
 * The simulation with the products, as one file. A seed costs a quarter less than with tsx, which gives each function its
 * name when it is created. And equal seeds have equal traces: an `import()` that passes through the loader of tsx, in
 * another thread, takes a different number of turns each time.
 */
export const loadSimulation = (): Promise<Bundle<typeof Simulation>> =>
  importBundle("test/integration/simulation/run-seeds.ts");
