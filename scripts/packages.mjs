// The packages of this repository, from their manifests. An entry point is written once, there: as its source, and as the
// file of the build that takes its place when the package is published.
import { readFileSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dirname, "..");
export const readJson = (path) => JSON.parse(readFileSync(join(root, path), "utf8"));

/** Entry points for the other packages of this repository, which have the same version; they may change with any release. */
const internal = new Set([
  "./catalog",
  "./commands",
  "./control",
  "./example",
  "./fields",
  "./parts",
  "./program",
]);

const { workspaces } = readJson("package.json");

/** In the order in which they depend on each other. */
export const packages = workspaces
  .filter((folder) => folder !== "sdk/kernel" && folder !== "mock-server/inspector/page")
  .map((folder) => {
    const manifest = readJson(`${folder}/package.json`);
    return { folder, manifest, name: manifest.name, entries: entriesOf(manifest) };
  });

/** Built into the packages that depend on it. */
export const kernel = { folder: "sdk/kernel", manifest: readJson("sdk/kernel/package.json") };

function entriesOf({ exports }) {
  return Object.entries(exports).flatMap(([path, target]) => {
    const source = target["workspace-tasks-source"];
    if (!source) return [];
    const built = target.default ?? target.import;
    const out = built.slice("./dist/".length, -".js".length);
    return [
      {
        path,
        source: source.slice("./".length),
        out,
        esmOnly: target.import !== undefined,
        isPublic: !internal.has(path),
      },
    ];
  });
}
