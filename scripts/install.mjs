// `npm start` and `npm test` must work on a fresh clone. npm runs this before them: it installs when
// node_modules is absent or does not belong to the lock file, and costs a few milliseconds otherwise.
//
//   node scripts/install.mjs [folder with a lock file of its own] [options of npm ci]
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [folder = ".", ...npmOptions] = process.argv.slice(2);
const root = join(import.meta.dirname, "..", folder);
const installed = join(root, "node_modules", ".package-lock.json");
const installedHash = join(root, "node_modules", ".package-lock.sha256");
const lockFile = join(root, "package-lock.json");
const lockHash = createHash("sha256").update(readFileSync(lockFile)).digest("hex");
const windows = process.platform === "win32";

if (!isInstalled()) install();

/** Whether node_modules belongs to the lock file: by its hash, or by age where npm was run by hand. */
function isInstalled() {
  if (!existsSync(installed)) return false;
  if (existsSync(installedHash)) return readFileSync(installedHash, "utf8") === lockHash;
  return statSync(installed).mtimeMs + 1 >= statSync(lockFile).mtimeMs;
}

function install() {
  const { status } = spawnSync(windows ? "npm.cmd" : "npm", ["ci", "--no-fund", ...npmOptions], {
    cwd: root,
    shell: windows,
    stdio: "inherit",
  });
  if (status !== 0) {
    console.error(`npm ci failed in ${root}: the reason is above; \`npm ci\` runs it again`);
    process.exit(1);
  }
  writeFileSync(installedHash, lockHash);
}
