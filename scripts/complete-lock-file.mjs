// `npm ci` rejects a lock file that lacks an entry for an optional dependency, and npm writes such an entry only
// for binaries that its registry can show at that moment. This adds the entries that are missing: from the
// registry where it knows the package, else from the package's name, which says the platform. An entry that was written
// without a hash gets it as soon as the registry knows the package.
//
//   node scripts/complete-lock-file.mjs             after every change of the dependencies
//   node scripts/complete-lock-file.mjs --check     fails when an entry is missing, or one that this machine needs has no hash
//   node scripts/complete-lock-file.mjs --release   fails as well when any entry has no hash
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { locatePackage } from "./lock-file.mjs";

const lockFiles = [
  "package-lock.json",
  "test/bench/peers/package-lock.json",
  "test/mutation/package-lock.json",
];
const checks = process.argv.includes("--check") || process.argv.includes("--release");
const noHashAllowed = !process.argv.includes("--release");

for (const name of lockFiles) {
  const file = join(import.meta.dirname, "..", name);
  const lock = JSON.parse(readFileSync(file, "utf8"));
  if (checks) check(name, lock.packages);
  else complete(file, name, lock);
}

function check(file, packages) {
  const missing = missingEntries(packages).map(({ name }) => name);
  const unverified = withoutHash(packages);
  const refused = unverified.filter(([, entry]) => !noHashAllowed || !isForOtherPlatform(entry));
  if (missing.length > 0) fail(`${file} lacks optional dependencies: ${missing.join(", ")}`);
  if (refused.length > 0) {
    fail(
      `${file} has entries without a hash, which npm installs unchecked: ${refused.map(([path]) => path).join(", ")}`,
    );
  }
  if (missing.length + refused.length > 0) return;
  const open = unverified.length > 0 ? `; ${unverified.length} for other platforms have no hash yet` : "";
  console.log(`${file} has an entry for every optional dependency${open}`);
}

function fail(message) {
  console.error(`${message}\nrun: node scripts/complete-lock-file.mjs`);
  process.exitCode = 1;
}

function complete(file, name, lock) {
  const missing = missingEntries(lock.packages);
  for (const entry of missing) {
    lock.packages[`node_modules/${entry.name}`] = entryOf(entry.name, entry.version, entry.dev);
  }
  const unverified = withoutHash(lock.packages);
  for (const [path, entry] of unverified) {
    const { integrity } = published(path.replace(/^.*node_modules\//, ""), entry.version);
    if (integrity) entry.integrity = integrity;
  }
  lock.packages = Object.fromEntries(
    Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, "en")),
  );
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
  const open = withoutHash(lock.packages).length;
  console.log(
    `${name}: added ${missing.length} entries and ${unverified.length - open} hashes; ${open} have none`,
  );
}

/** Optional dependencies of a locked package that resolve to no entry. */
function missingEntries(packages) {
  const found = new Map();
  for (const [path, entry] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      if (!locatePackage(packages, path, name)) found.set(name, { name, version, dev: entry.dev === true });
    }
  }
  return [...found.values()];
}

function withoutHash(packages) {
  // Workspaces are folders of this repository.
  return Object.entries(packages).filter(
    ([path, { integrity, link }]) => path.includes("node_modules/") && !link && !integrity,
  );
}

/** Only such entries may lack a hash: the registry did not have the binary when the lock file was written. */
function isForOtherPlatform({ optional, os, cpu, libc }) {
  const excludes = (allowed, actual) => allowed !== undefined && !allowed.includes(actual);
  return optional === true && (excludes(os, "linux") || excludes(cpu, "x64") || isMusl(libc));
}

function isMusl(libc) {
  return libc !== undefined && !libc.includes("glibc");
}

function entryOf(name, version, dev) {
  const platform = { ...platformOf(name), ...published(name, version) };
  return { version, ...platform, ...(dev ? { dev } : {}), optional: true };
}

/** What the registry says of the package, or nothing. */
function published(name, version) {
  const { status, stdout } = spawnSync("npm", ["view", `${name}@${version}`, "--json"], {
    encoding: "utf8",
    shell: process.platform === "win32",
  });
  if (status !== 0 || !stdout.trim()) return {};
  const { os, cpu, libc, license, engines, dist } = JSON.parse(stdout);
  const known = { integrity: dist?.integrity, os, cpu, libc, license, engines };
  return Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined));
}

/** `@biomejs/cli-linux-arm64-musl` and `@oxc-parser/binding-win32-x64-msvc` name what they run on. */
function platformOf(name) {
  const systems = ["android", "darwin", "freebsd", "linux", "openharmony", "win32"];
  const [, system, cpu, abi] =
    new RegExp(`-(${systems.join("|")})-([a-z0-9]+)(?:-([a-z]+))?$`).exec(name) ?? [];
  if (!system) throw new Error(`${name}: its name says no platform; add its entry by hand`);
  const libc = abi?.startsWith("musl") ? ["musl"] : abi?.startsWith("gnu") ? ["glibc"] : undefined;
  return { cpu: [cpu], ...(libc ? { libc } : {}), os: [system] };
}
