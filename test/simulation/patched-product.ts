import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { distance } from "fastest-levenshtein";

/** A change of a product's source text. It names no file: the text must occur once in all products. */
export interface Patch {
  readonly find: string;
  readonly replace: string;
}

export interface PatchedProduct<Module> extends Disposable {
  readonly module: Module;
}

interface NamedPatches {
  readonly name: string;
  readonly patches: readonly Patch[];
}

const products = ["sdk", "receiver-kit"] as const;

/**
 * Copies the products' sources, patches the copy, and imports it. Patched text and not a mocked module, because a
 * mutant changes a comparison or an argument, and neither is an export.
 *
 * @throws Error when a patch does not match the sources
 */
export async function importPatched<Module>(
  product: (typeof products)[number],
  { name, patches }: NamedPatches,
  entry = "index.ts",
): Promise<PatchedProduct<Module>> {
  const root = resolve(import.meta.dirname, "../..");
  // Inside the repository, so that the copies find its packages.
  mkdirSync(join(root, ".tmp"), { recursive: true });
  const folder = mkdtempSync(join(root, ".tmp/mutant-"));
  const dispose = () => rmSync(folder, { recursive: true, force: true });
  try {
    for (const copied of products) cpSync(join(root, copied), join(folder, copied), { recursive: true });
    for (const patch of patches) applyPatch(folder, name, patch);
    const url = pathToFileURL(join(folder, product, entry)).href;
    const module = (await import(/* @vite-ignore */ url)) as Module;
    return { module, [Symbol.dispose]: dispose };
  } catch (error) {
    dispose();
    throw error;
  }
}

function applyPatch(folder: string, mutant: string, { find, replace }: Patch): void {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => ({ path, text: readFileSync(join(folder, path), "utf8") }));
  const matches = files.flatMap((file) =>
    file.text
      .split(find)
      .slice(1)
      .map(() => file),
  );
  const [file] = matches;
  if (file && matches.length === 1) {
    writeFileSync(
      join(folder, file.path),
      file.text.replace(find, () => replace),
    );
    return;
  }
  const places = matches.length > 0 ? matches.map(({ path }) => path).join(", ") : "nowhere";
  const { path, line, text } = closestLine(files, find.split("\n")[0] ?? "");
  throw new Error(
    [
      `mutant ${mutant} does not match the sources: expected its text once, found it ${places}`,
      `  text: ${find}`,
      `  most similar line: ${path}:${line}: ${text}`,
      `Change the patch in test/simulation/mutants.ts, so that it puts the same bug into the present code.`,
    ].join("\n"),
  );
}

function closestLine(files: readonly { readonly path: string; readonly text: string }[], wanted: string) {
  const lines = files.flatMap(({ path, text }) =>
    text.split("\n").map((line, index) => ({ path, line: index + 1, text: line.trim() })),
  );
  const ranked = lines.map((line) => ({ ...line, distance: distance(line.text, wanted.trim()) }));
  return ranked.reduce((best, line) => (line.distance < best.distance ? line : best));
}
