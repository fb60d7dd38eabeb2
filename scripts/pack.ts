import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  type Dirent,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { type Package, packages, root } from "./packages.ts";
import { stage, stagedFolder } from "./stage.ts";

const packed = join(root, ".tmp/packed");
/** A program that packs or copies has ended by then. */
const unusedMs = 60 * 60_000;

/**
 * Packs the build of every package into `folder`. Only the first call packs: later ones, also of programs that run at the
 * same time, copy its tarballs, unless something that is published has changed.
 *
 * @returns the path of the tarball by the name of the package
 */
export function packPackages(folder: string): ReadonlyMap<string, string> {
  mkdirSync(packed, { recursive: true });
  const staged = mkdtempSync(join(packed, "staged-"));
  try {
    stage(staged);
    const tarballs = join(packed, hashOf(staged));
    if (!existsSync(tarballs)) pack(staged, tarballs);
    cpSync(tarballs, folder, { recursive: true });
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
  return new Map(packages.map((each) => [each.name, join(folder, tarballName(each))]));
}

/** The name that npm gives to the tarball of a package. */
export const tarballName = ({ name, manifest }: Package): string =>
  `${name.replace("@", "").replace("/", "-")}-${manifest.version}.tgz`;

function hashOf(folder: string): string {
  const hash = createHash("sha256");
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }).sort(byPath)) {
    const path = pathOf(entry);
    if (entry.isFile()) hash.update(`${relative(folder, path)}\0`).update(readFileSync(path));
  }
  return hash.digest("hex");
}

const pathOf = ({ parentPath, name }: Dirent) => join(parentPath, name);
const byPath = (a: Dirent, b: Dirent) => (pathOf(a) < pathOf(b) ? -1 : 1);

/** The tarballs appear together, so that another program sees all or none. */
function pack(staged: string, tarballs: string): void {
  removeUnused();
  const folders = packages.map(({ name }) => stagedFolder(name, staged));
  const packing = mkdtempSync(join(packed, "packing-"));
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", packing, ...folders];
  const windows = process.platform === "win32";
  try {
    const { status, stderr } = spawnSync(windows ? "npm.cmd" : "npm", args, {
      cwd: root,
      encoding: "utf8",
      shell: windows,
    });
    if (status !== 0) throw new Error(`npm pack failed:\n${stderr}`);
    renameSync(packing, tarballs);
  } catch (error) {
    if (!existsSync(tarballs)) throw error; // else another program was faster
  } finally {
    rmSync(packing, { recursive: true, force: true });
  }
}

function removeUnused(): void {
  for (const name of readdirSync(packed)) {
    const path = join(packed, name);
    const { mtimeMs = Number.POSITIVE_INFINITY } = statSync(path, { throwIfNoEntry: false }) ?? {};
    if (Date.now() - mtimeMs > unusedMs) rmSync(path, { recursive: true, force: true });
  }
}

/**
 * Packs the build and unpacks every package in an empty project where npm would put it, beside their dependencies and
 * `others`, which are links into this repository. Downloads nothing.
 *
 * @returns the folder of the packages by their names
 */
export function unpackPackages(project: string, others: readonly string[] = []): ReadonlyMap<string, string> {
  const modules = join(project, "node_modules");
  mkdirSync(modules);
  const unpacked = mkdtempSync(join(tmpdir(), "workspace-tasks-unpacked-"));
  const folders = new Map<string, string>();
  try {
    for (const [name, tarball] of packPackages(unpacked)) {
      const folder = join(modules, name);
      mkdirSync(folder, { recursive: true });
      const untar = spawnSync("tar", ["-xzf", tarball, "-C", folder, "--strip-components=1"], {
        encoding: "utf8",
      });
      if (untar.status !== 0) throw new Error(`tar failed:\n${untar.stderr}`);
      folders.set(name, folder);
    }
  } finally {
    rmSync(unpacked, { recursive: true, force: true });
  }
  const dependencies = packages.flatMap(({ manifest }) => Object.keys(manifest.dependencies ?? {}));
  const links = new Set([...dependencies, ...others].filter((name) => !folders.has(name)));
  for (const name of links) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, "node_modules", name), join(modules, name), "junction");
  }
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "packed", private: true }));
  return folders;
}

// node --import tsx scripts/pack.ts <folder>
if (process.argv[1] === import.meta.filename) {
  for (const tarball of packPackages(process.argv[2] ?? ".").values()) console.log(tarball);
}
