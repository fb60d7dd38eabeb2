/** The path of the package that a dependency resolves to in a lock file, as Node would look it up. */
export function locatePackage(locked, from, name) {
  for (let folder = from; ; folder = parentOf(folder)) {
    const path = `${folder ? `${folder}/` : ""}node_modules/${name}`;
    if (locked[path]) return locked[path].link ? locked[path].resolved : path;
    if (!folder) return undefined;
  }
}

/** A workspace is in a folder of the repository, and everything else in a `node_modules`. */
function parentOf(folder) {
  const nested = folder.lastIndexOf("/node_modules/");
  if (nested > 0) return folder.slice(0, nested);
  return folder.includes("/") && !folder.startsWith("node_modules/")
    ? folder.slice(0, folder.lastIndexOf("/"))
    : "";
}

/**
 * What is installed with the workspace in `folder`, as paths in the lock file: follows `dependencies`, neither dev
 * dependencies nor peers.
 */
export function installedPackages({ packages: locked }, folder) {
  const found = new Map();
  const visit = (from, names) => {
    for (const name of names) {
      const path = locatePackage(locked, from, name);
      if (!path || found.has(path)) continue;
      found.set(path, name);
      visit(path, Object.keys(locked[path].dependencies ?? {}));
    }
  };
  visit(folder, Object.keys(locked[folder].dependencies ?? {}));
  return [...found].map(([path, name]) => ({ path, name, isOwn: !path.includes("node_modules/") }));
}
