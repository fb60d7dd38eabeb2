import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** One change of a product's source text. It names no file: the text is found wherever it stands. */
export type Patch = { readonly find: string; readonly replace: string };

export type MutatedProduct<Module> = Disposable & { readonly module: Module };

const products = ["sdk", "receiver-kit"] as const;

/**
 * A copy of the products' sources with these changes, imported from its own place. Copied text and not a mocked module,
 * because what a mutant changes (a comparison, one argument) is no export that could be replaced.
 *
 * @throws Error when a text is not found exactly once: the mutant no longer fits the source
 */
export async function importMutated<Module>(
  product: (typeof products)[number],
  patches: readonly Patch[],
): Promise<MutatedProduct<Module>> {
  const root = resolve(import.meta.dirname, "../..");
  // Inside the repository, so that the copies find its packages.
  mkdirSync(join(root, ".tmp"), { recursive: true });
  const folder = mkdtempSync(join(root, ".tmp/mutant-"));
  const dispose = () => rmSync(folder, { recursive: true, force: true });
  try {
    for (const name of products) cpSync(join(root, name), join(folder, name), { recursive: true });
    for (const patch of patches) applyPatch(folder, patch);
    const entry = pathToFileURL(join(folder, product, "index.ts")).href;
    const module = (await import(/* @vite-ignore */ entry)) as Module;
    return { module, [Symbol.dispose]: dispose };
  } catch (error) {
    dispose();
    throw error;
  }
}

function applyPatch(folder: string, { find, replace }: Patch): void {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => join(folder, path));
  const hits = files.filter((path) => readFileSync(path, "utf8").includes(find));
  const [path] = hits;
  const parts = path === undefined ? [] : readFileSync(path, "utf8").split(find);
  if (path === undefined || hits.length > 1 || parts.length !== 2) {
    throw new Error(`expected this text once in the sources, found it in ${hits.length} files: ${find}`);
  }
  writeFileSync(path, parts.join(replace));
}
