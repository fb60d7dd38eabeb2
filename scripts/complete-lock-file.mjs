// `npm ci` refuses a lock file that lacks an entry for an optional dependency, and npm writes such an entry only
// for binaries that its registry can show at that moment. This adds the entries that are missing: from the
// registry where it knows the package, else from the package's name, which says the platform.
//
//   node scripts/complete-lock-file.mjs            after every change of the dependencies
//   node scripts/complete-lock-file.mjs --check    fails when an entry is missing
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { locatePackage } from "./lock-file.mjs";

const file = join(import.meta.dirname, "..", "package-lock.json");
const lock = JSON.parse(readFileSync(file, "utf8"));

const missing = missingEntries(lock.packages);
if (process.argv.includes("--check")) {
  if (missing.length > 0) {
    const names = missing.map(({ name }) => name).join(", ");
    console.error(`package-lock.json lacks optional dependencies: ${names}`);
    console.error("run: node scripts/complete-lock-file.mjs");
    process.exit(1);
  }
  console.log("package-lock.json has an entry for every optional dependency");
} else {
  for (const { name, version, dev } of missing)
    lock.packages[`node_modules/${name}`] = entryOf(name, version, dev);
  lock.packages = Object.fromEntries(
    Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, "en")),
  );
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`added ${missing.length} entries`);
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
