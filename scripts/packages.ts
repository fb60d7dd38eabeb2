// The packages of this repository, from their manifests. An entry point is written once, there: as its source, and as the
// file of the build that takes its place when the package is published.
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface PackageEntry {
  /** The path is that in `exports`. */
  readonly path: string;
  /** From the folder of the package. */
  readonly source: string;
  /** The file in dist/, without its ending. */
  readonly out: string;
  readonly esmOnly: boolean;
  readonly isPublic: boolean;
}

type ExportTarget = string | Readonly<Record<string, string>>;
type VersionsByName = Readonly<Record<string, string>>;

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly exports: Readonly<Record<string, ExportTarget>>;
  /** What is packed besides the build: of the package's folder, and of the repository. */
  readonly files?: readonly string[];
  readonly documents?: readonly string[];
  readonly dependencies?: VersionsByName;
  readonly peerDependencies?: VersionsByName;
  readonly devDependencies?: VersionsByName;
}

export interface Package {
  /** From the root of the repository. */
  readonly folder: string;
  readonly name: string;
  readonly manifest: Manifest;
  readonly entries: readonly PackageEntry[];
}

export const root = join(import.meta.dirname, "..");

/** @param path from the root of the repository */
export const readJson = (path: string): unknown => JSON.parse(readFileSync(join(root, path), "utf8"));

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

export interface Page {
  /** The folder of the package that serves it. */
  readonly of: string;
  readonly folder: string;
  /** The folder of its build in `dist/`. */
  readonly out: string;
  /** The module that reads the build, in whose place the package has the texts of the files. */
  readonly module?: string;
}

/** Pages for a browser, each built into the package that serves it. */
export const pages: readonly [Page, Page] = [
  { of: "mock-server", folder: "mock-server/inspector/page", out: "inspector" },
  { of: "receiver-kit", folder: "receiver-kit/page/app", out: "page", module: "page/page-files.ts" },
];

/** Built into the packages that depend on them. */
const bundled = ["sdk/kernel", "sdk/page-parts", ...pages.map(({ folder }) => folder)];

const { workspaces } = readJson("package.json") as { readonly workspaces: readonly string[] };
const readManifest = (folder: string) => readJson(`${folder}/package.json`) as Manifest;

/** The published packages, in the order in which they depend on each other. */
export const packages: readonly Package[] = workspaces
  .filter((folder) => !bundled.includes(folder))
  .map((folder) => {
    const manifest = readManifest(folder);
    return { folder, manifest, name: manifest.name, entries: entriesOf(manifest) };
  });

/** Built into the packages that depend on it. */
export const kernel = { folder: "sdk/kernel", manifest: readManifest("sdk/kernel") };

/** The optional peers of the packages, with the range of versions that a package accepts. */
export const peers: readonly { readonly name: string; readonly range: string; readonly of: string }[] =
  packages
    .flatMap(({ name: of, manifest }) =>
      Object.entries(manifest.peerDependencies ?? {}).map(([name, range]) => ({ name, range, of })),
    )
    .sort((a, b) => a.name.localeCompare(b.name));

function entriesOf({ exports }: Manifest): readonly PackageEntry[] {
  return Object.entries(exports).flatMap(([path, target]) => {
    const built = typeof target === "string" ? undefined : (target["default"] ?? target["import"]);
    if (typeof target === "string" || target["workspace-tasks-source"] === undefined || built === undefined)
      return [];
    return [
      {
        path,
        source: target["workspace-tasks-source"].slice("./".length),
        out: built.slice("./dist/".length, -".js".length),
        esmOnly: target["import"] !== undefined,
        isPublic: !internal.has(path),
      },
    ];
  });
}
