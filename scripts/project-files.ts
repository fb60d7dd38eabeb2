import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * The files of the project that end with one of `endings`, as paths from `root` with forward slashes, sorted. Reads
 * the folders and not Git: a downloaded archive has no repository. What .gitignore names as a folder is left out.
 */
export function projectFiles(root: string, ...endings: readonly string[]): readonly string[] {
  const ignored = ignoredFolders(root);
  const filesIn = (folder: string): readonly string[] =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = folder ? `${folder}/${entry.name}` : entry.name;
      if (entry.isDirectory()) return ignored(path, entry.name) ? [] : filesIn(path);
      return entry.isFile() && endings.some((ending) => path.endsWith(ending)) ? [path] : [];
    });
  return filesIn("").toSorted();
}

/** A pattern without a slash inside means a name at any depth, one with a slash a path from the root. */
function ignoredFolders(root: string) {
  const folders = readFileSync(join(root, ".gitignore"), "utf8")
    .split("\n")
    .filter((line) => line.endsWith("/"))
    .map((line) => line.slice(0, -1));
  const names = new Set([".git", ...folders.filter((folder) => !folder.includes("/"))]);
  const paths = new Set(
    folders.filter((folder) => folder.includes("/")).map((path) => path.replace(/^\//, "")),
  );
  return (path: string, name: string) => names.has(name) || paths.has(path);
}
