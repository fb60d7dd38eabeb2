// `npm start` and `npm test` must work on a fresh clone. npm runs this before them: it installs when
// node_modules is absent or older than the lock file, and costs a few milliseconds otherwise.
import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const installed = join(root, "node_modules", ".package-lock.json");
const wanted = join(root, "package-lock.json");

if (!existsSync(installed) || statSync(installed).mtimeMs + 1 < statSync(wanted).mtimeMs) {
  console.log("installing dependencies (once, about half a minute) …");
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const { status, error } = spawnSync(npm, ["ci", "--no-audit", "--no-fund"], {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
    shell: process.platform === "win32",
  });
  if (status !== 0) {
    console.error(`npm ci failed${error ? `: ${error.message}` : ""}; run it by hand to see why`);
    process.exit(1);
  }
}
