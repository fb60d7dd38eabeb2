// What is part of a build, by the licences that the build puts beside it, since their texts must accompany every copy.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { locatePackage } from "./lock-file.mjs";
import { pages, root } from "./packages.ts";

/** The packages whose code is in the build of a package, as paths in the lock file. Needs a build. */
export function bundledPackages({ folder }, { packages: locked }) {
  const licences = join(root, folder, "dist/licences");
  const names = existsSync(licences)
    ? readdirSync(licences).map((file) => file.replace(/\.txt$/, "").replace("+", "/"))
    : [];
  const own = names.map((name) => ({ name, path: locatePackage(locked, folder, name) }));
  return [...own, ...bundledInPage(folder, locked)];
}

function bundledInPage(folder, locked) {
  const page = pages.find(({ of }) => of === folder);
  const file = join(root, folder, `dist/${page?.out}/assets/licences.txt`);
  if (!page || !existsSync(file)) return [];
  return [...readFileSync(file, "utf8").matchAll(/^## (\S+) - (\S+) \(.+\)$/gm)].map(([, name, version]) => {
    const path = locatePackage(locked, page.folder, name);
    if (locked[path]?.version !== version) {
      throw new Error(`${name} ${version} is part of the page, and not of the lock file`);
    }
    return { name, path };
  });
}
