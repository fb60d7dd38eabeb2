// Makes a folder of what is published of each package: its manifest with the entry points of the build, its build, its
// documents. `npm pack` reads these folders and not the sources, so that no tarball depends on what else lies there.
import { chmodSync, cpSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { readWhole } from "./included.ts";
import { type Manifest, type Package, type PackageEntry, packages, pages, root } from "./packages.ts";

/** `https://github.com/<owner>/<name>`: a release names it, and links of the README go there. */
const repository = process.env["WORKSPACE_TASKS_REPOSITORY"];

export const stagedFolder = (name: string, target: string): string =>
  join(target, name.replace("@workspace-tasks/", ""));

/** @param target an empty folder */
export function stage(target: string): void {
  for (const each of packages) stagePackage(each, target);
}

function stagePackage({ folder, manifest, name, entries }: Package, target: string): void {
  const to = stagedFolder(name, target);
  const from = join(root, folder);
  const { documents = [], files = [], ...published } = manifest;
  mkdirSync(to, { recursive: true });
  const inCode = pages
    .filter((page) => page.of === folder && page.module)
    .map(({ out }) => join(from, "dist", out));
  cpSync(join(from, "dist"), join(to, "dist"), { recursive: true, filter: (path) => !inCode.includes(path) });
  for (const file of files) copy(join(from, file), join(to, file));
  for (const file of ["LICENSE", "CHANGELOG.md", ...documents]) copy(join(root, file), join(to, file));
  copy(join(from, "README.md"), join(to, "README.md"));
  for (const file of ["README.md", "CHANGELOG.md", ...documents].filter((name) => name.endsWith(".md"))) {
    const isReadme = file === "README.md";
    const text = readWhole(join(isReadme ? from : root, file));
    writeFileSync(join(to, file), linked(text, isReadme ? folder : dirname(file), documents));
  }
  writeFileSync(
    join(to, "package.json"),
    `${JSON.stringify(publishedManifest(published, { folder, entries, documents }), null, 2)}\n`,
  );
  setModes(to);
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to, { recursive: true });
}

function publishedManifest(
  { private: _, devDependencies, exports, ...manifest }: Omit<Manifest, "documents" | "files">,
  {
    folder,
    entries,
    documents,
  }: Pick<Package, "folder" | "entries"> & { readonly documents: readonly string[] },
): object {
  const bySource = new Map(entries.map((entry) => [entry.path, entry]));
  const main = bySource.get(".");
  const contract = documents.includes("schema.graphql") && { "./schema.graphql": "./schema.graphql" };
  return {
    ...manifest,
    ...(repository && {
      repository: { type: "git", url: `git+${repository}.git`, directory: folder },
      homepage: `${repository}/tree/main/${folder}#readme`,
      bugs: `${repository}/issues`,
    }),
    ...(main && { main: "./dist/index.cjs", types: "./dist/index.d.cts" }),
    exports: Object.fromEntries(
      Object.entries({ ...exports, ...contract }).map(([path, target]) => [
        path,
        conditions(bySource.get(path)) ?? target,
      ]),
    ),
    // For compilers that do not read `exports`.
    typesVersions: {
      "*": Object.fromEntries(
        entries
          .filter(({ path }) => path !== ".")
          .map(({ path, out, esmOnly }) => [path.slice(2), [`./dist/${out}.d.${esmOnly ? "ts" : "cts"}`]]),
      ),
    },
  };
}

const conditions = (entry: PackageEntry | undefined) =>
  entry && {
    // `require` of an ES module where Node has it, so that there is one copy of each class.
    ...(!entry.esmOnly && {
      "module-sync": { types: `./dist/${entry.out}.d.ts`, default: `./dist/${entry.out}.js` },
      require: { types: `./dist/${entry.out}.d.cts`, default: `./dist/${entry.out}.cjs` },
    }),
    types: `./dist/${entry.out}.d.ts`,
    default: `./dist/${entry.out}.js`,
  };

/**
 * Links lead to the documents in the package, others to the repository; where no release has named it, their text stays. Those
 * of a README lead to the repository, too: on its page at npm there are no documents beside it.
 */
function linked(text: string, folder: string, documents: readonly string[]): string {
  return text.replaceAll(
    /(!?)\[([^\]]*)\]\((?!https?:|#)([^)#\s]+)(#[^)]*)?\)/g,
    (_, image: string, label: string, path: string, anchor = "") => {
      const target = join(folder, path).split(sep).join("/");
      const isPacked = documents.some((each) => target === each || target.startsWith(`${each}/`));
      const isPage = folderInPackage(folder) === "";
      if (isPacked && !(isPage && repository))
        return `${image}[${label}](${relative(folderInPackage(folder), target).split(sep).join("/")}${anchor})`;
      if (repository)
        return `${image}[${label}](${repository}/${image ? "raw" : "blob"}/main/${target}${anchor})`;
      return image ? "" : label;
    },
  );
}

/** A README is at the root of its package; documents stay where they are in the repository. */
const folderInPackage = (folder: string) => (packages.some((each) => each.folder === folder) ? "" : folder);

/** npm packs modes as they are: the same sources give the same tarball whatever the file mode mask is. */
function setModes(path: string): void {
  const stats = statSync(path);
  if (stats.isDirectory()) for (const name of readdirSync(path)) setModes(join(path, name));
  else chmodSync(path, stats.mode & 0o100 ? 0o755 : 0o644);
}
