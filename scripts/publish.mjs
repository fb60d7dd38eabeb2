// Publishes every package, or none: before the first one is sent, the registry is asked for each. What others depend on goes
// first, so that no package is there before its dependencies when a release ends in the middle; run again, this sends what is
// missing and skips what the registry already has, byte for byte.
//
//   node scripts/publish.mjs <folder of tarballs> [options of npm publish]
//
// The tarballs are those of scripts/pack.ts, which ran where there is no identity to publish with. So this uses Node and npm
// alone: no dependency, and no script of a package.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { capture } from "./capture.mjs";

const [folder = ".", ...options] = process.argv.slice(2);
try {
  const packages = inOrder(
    readdirSync(folder)
      .filter((file) => file.endsWith(".tgz"))
      .map(readPackage),
  );
  if (packages.length === 0) throw new Error(`expected tarballs in ${folder}, got none`);
  const versions = new Set(packages.map(({ manifest }) => manifest.version));
  if (versions.size > 1) throw new Error(`expected one version, got ${[...versions].join(", ")}`);
  const missing = [];
  for (const each of packages) {
    if (await isPublished(each)) console.log(`${each.name}: is published`);
    else missing.push(each);
  }
  for (const { name, tarball } of missing) {
    await npm("publish", tarball, "--ignore-scripts", ...options);
    console.log(`${name}: published`);
  }
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

function readPackage(file) {
  // npm takes a path without a folder for the name of a package.
  const tarball = join(process.cwd(), folder, file);
  const { status, stdout, stderr } = spawnSync("tar", ["-xzOf", tarball, "package/package.json"], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${file} is not the tarball of a package:\n${stderr}`);
  const manifest = JSON.parse(stdout);
  if (manifest.repository === undefined)
    throw new Error(`${file} names no repository: pack with WORKSPACE_TASKS_REPOSITORY, its URL`);
  return { name: manifest.name, manifest, tarball };
}

/** Those without dependencies among the others first. */
function inOrder(packages) {
  const ordered = [];
  for (let left = packages; left.length > 0; ) {
    const needs = ({ manifest: { dependencies = {}, peerDependencies = {} } }) =>
      left.some(({ name }) => name in dependencies || name in peerDependencies);
    const next = left.filter((each) => !needs(each));
    if (next.length === 0) throw new Error(`${left.map(({ name }) => name).join(", ")} depend on each other`);
    ordered.push(...next);
    left = left.filter((each) => !next.includes(each));
  }
  return ordered;
}

/** @throws when the registry has this version with another content, or does not respond */
async function isPublished({ name, manifest, tarball }) {
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
