import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

type PageFiles = ReadonlyMap<string, Uint8Array<ArrayBuffer>>;

/** The files of a page, by their path below its folder; none when it is not built. */
export function readPage(folder: string | undefined): PageFiles {
  if (folder === undefined || !existsSync(join(folder, "assets"))) return new Map();
  const assets = readdirSync(join(folder, "assets")).map((name) => `assets/${name}`);
  return new Map(
    ["index.html", ...assets].map((name) => [name, new Uint8Array(readFileSync(join(folder, name)))]),
  );
}

/**
 * The folder `dist/<name>` of a package. Resolved from the package, so that sources and build find it in the same place.
 * @param from address of the module that asks
 */
export function builtFolder(packageName: string, name: string, from: string): string | undefined {
  try {
    return join(dirname(createRequire(from).resolve(`${packageName}/package.json`)), "dist", name);
  } catch {
    // A bundle may have neither an address of its own nor a package beside it.
    return undefined;
  }
}
