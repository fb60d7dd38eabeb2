/** The path of the package that a dependency resolves to in a lock file, as Node would look it up. */
export function locatePackage(packages, from, name) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    const path = `${folder ? `${folder}/` : ""}node_modules/${name}`;
    if (packages[path]) return path;
    if (!folder) return undefined;
  }
}

/** Paths of what is installed with the package: follows `dependencies` from the root, neither dev dependencies nor peers. */
export function installedPackages({ packages }) {
  const found = new Map();
  const visit = (from, names) => {
    for (const name of names) {
      const path = locatePackage(packages, from, name);
      if (!path || found.has(path)) continue;
      found.set(path, name);
      visit(path, Object.keys(packages[path].dependencies ?? {}));
    }
  };
  visit("", Object.keys(packages[""].dependencies));
  return [...found].map(([path, name]) => ({ path, name }));
}
