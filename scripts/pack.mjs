import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { packages, root } from "./packages.mjs";
import { stage, stagedFolder } from "./stage.mjs";

/**
 * Packs the build of every package into `folder`.
 *
 * @returns the path of the tarball by the name of the package
 */
export function packPackages(folder) {
  stage();
  const windows = process.platform === "win32";
  const folders = packages.map(({ name }) => stagedFolder(name));
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder, ...folders];
  const packed = spawnSync(windows ? "npm.cmd" : "npm", args, {
    cwd: root,
    encoding: "utf8",
    shell: windows,
  });
  if (packed.status !== 0) throw new Error(`npm pack failed:\n${packed.stderr}`);
  const tarballs = Object.values(JSON.parse(packed.stdout));
  return new Map(tarballs.map(({ name, filename }) => [name, join(folder, filename)]));
}

/**
 * Packs the build and unpacks every package in an empty project where npm would put it, beside their dependencies and
 * `others`, which are links into this repository. Downloads nothing.
 *
 * @returns the folder of the packages by their names
 */
export function unpackPackages(project, others = []) {
  const modules = join(project, "node_modules");
  mkdirSync(modules);
  const unpacked = mkdtempSync(join(tmpdir(), "workspace-tasks-unpacked-"));
  const folders = new Map();
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

// node scripts/pack.mjs <folder>
if (process.argv[1] === import.meta.filename) {
  for (const tarball of packPackages(process.argv[2] ?? ".").values()) console.log(tarball);
}
