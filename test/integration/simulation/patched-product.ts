import { readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { type Bundle, importBundle } from "./import-bundle.ts";

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
