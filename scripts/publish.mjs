// Publishes every package, or none: before the first one is sent, all are packed, and the registry is asked for each. What
// others depend on goes first, so that no package is there before its dependencies when a release ends in the middle; run
// again, this sends what is missing and skips what the registry already has, byte for byte.
//
//   node --import tsx scripts/publish.mjs [options of npm publish]
//
// Needs a build. The names of packages lead to their sources when WORKSPACE_TASKS_REPOSITORY is set.
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { capture } from "./capture.mjs";
import { packPackages } from "./pack.ts";
import { packages } from "./packages.ts";

const options = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "workspace-tasks-publish-"));
try {
  if (process.env.WORKSPACE_TASKS_REPOSITORY === undefined)
    throw new Error("expected WORKSPACE_TASKS_REPOSITORY, the URL of the repository that the packages name");
  const versions = new Set(packages.map(({ manifest }) => manifest.version));
  if (versions.size > 1) throw new Error(`expected one version, got ${[...versions].join(", ")}`);
  const tarballs = packPackages(folder);
  const missing = [];
  for (const each of packages) {
    const tarball = tarballs.get(each.name);
    if (await isPublished(each, tarball)) console.log(`${each.name}: is published`);
    else missing.push({ ...each, tarball });
  }
  for (const { name, tarball } of missing) {
    await npm("publish", tarball, ...options);
    console.log(`${name}: published`);
  }
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** @throws when the registry has this version with another content, or does not respond */
async function isPublished({ name, manifest }, tarball) {
  const { code, stdout, output } = await capture("npm", [
    "view",
    `${name}@${manifest.version}`,
    "dist.integrity",
    "--json",
    // `npm run --silent` would hide the code of the error.
    "--loglevel=error",
    ...options,
  ]);
  if (/\bE404\b/.test(output) || (code === 0 && stdout.trim() === "")) return false;
  if (code !== 0)
    throw new Error(`${name}: the registry does not say whether it has ${manifest.version}:\n${output}`);
  const integrity = `sha512-${createHash("sha512").update(readFileSync(tarball)).digest("base64")}`;
  if (JSON.parse(stdout) === integrity) return true;
  throw new Error(`${name}: the registry has another ${manifest.version}; nothing was published`);
}

async function npm(...args) {
  const { code, output } = await capture("npm", args);
  if (code !== 0)
    throw new Error(`npm ${args[0]} failed:\n${output}\nrun this again: it sends what is missing`);
}
