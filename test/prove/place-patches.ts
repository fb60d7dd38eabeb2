import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Patch } from "../simulation/patched-product.ts";
import type { FindingMutant } from "./finding-mutant.ts";

export type PlacedMutant = FindingMutant & { readonly folder: string };

export interface PlacedPatch extends Patch {
  /** Of the file, from the root of the repository. */
  readonly path: string;
}

const root = resolve(import.meta.dirname, "../..");

/** @throws Error when a text of the mutant does not occur once in its folder */
export function placePatches({ name, folder, patches }: PlacedMutant): readonly PlacedPatch[] {
  return patches.map((patch) => {
    const places = placesOf(folder, patch.find);
    const [path] = places;
    if (path === undefined || places.length > 1) {
      throw new Error(
        `mutant ${name}: expected its text once in ${folder}, found it ${places.length} times: ${patch.find}`,
      );
    }
    return { ...patch, path };
  });
}

/** The files of a folder that have the text, each as often as it occurs there. */
export const placesOf = (folder: string, find: string): readonly string[] =>
  [...sourcesOf(folder)].flatMap(([path, text]) => text.split(find).slice(1).fill(path));

const folders = new Map<string, ReadonlyMap<string, string>>();

/** The texts of a folder's sources, by path from the root. */
function sourcesOf(folder: string): ReadonlyMap<string, string> {
  const known = folders.get(folder);
  if (known) return known;
  const paths = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => /\.(?:[jt]sx?|css)$/.test(path))
    .map((path) => join(folder, path));
  const sources = new Map(paths.map((path) => [path, readFileSync(join(root, path), "utf8")]));
  folders.set(folder, sources);
  return sources;
}
