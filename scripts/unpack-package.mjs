import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const root = join(import.meta.dirname, "..");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/**
 * Packs the build and unpacks it in an empty project where npm would put it, beside its dependencies and `others`, which
 * are links into this repository. Downloads nothing. Returns the folder of the package.
 */
export function unpackPackage(project, others = []) {
  const windows = process.platform === "win32";
  const pack = ["pack", "--json", "--ignore-scripts", "--pack-destination", project];
  const packed = spawnSync(windows ? "npm.cmd" : "npm", pack, {
    cwd: root,
    encoding: "utf8",
    shell: windows,
  });
  if (packed.status !== 0) throw new Error(`npm pack failed:\n${packed.stderr}`);
  const parsed = JSON.parse(packed.stdout);
  const { filename } = Array.isArray(parsed) ? parsed[0] : Object.values(parsed)[0];
  const modules = join(project, "node_modules");
  mkdirSync(modules);
  const untar = spawnSync("tar", ["-xzf", join(project, filename), "-C", modules], { encoding: "utf8" });
  if (untar.status !== 0) throw new Error(`tar failed:\n${untar.stderr}`);
  const installed = join(modules, manifest.name);
  cpSync(join(modules, "package"), installed, { recursive: true });
  rmSync(join(modules, "package"), { recursive: true });
  for (const name of [...Object.keys(manifest.dependencies), ...others]) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, "node_modules", name), join(modules, name), "junction");
  }
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "packed", private: true }));
  return installed;
}
