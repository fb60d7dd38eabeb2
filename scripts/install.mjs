// `npm start` and `npm test` must work on a fresh clone. npm runs this before them: it installs when
// node_modules is absent or older than the lock file, and costs a few milliseconds otherwise.
//
// Not `npm ci`: that refuses a lock file that does not list the binaries of every platform, and such a list
// can only be written where the registry has all of them. `npm install` takes the locked versions all the same.
import { spawnSync } from "node:child_process";
import { existsSync, statSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const installed = join(root, "node_modules", ".package-lock.json");
const wanted = join(root, "package-lock.json");

if (!existsSync(installed) || statSync(installed).mtimeMs + 1 < statSync(wanted).mtimeMs) {
  console.log("installing dependencies (once, about half a minute) …");
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const { status, error } = spawnSync(npm, ["install", "--no-save", "--no-audit", "--no-fund"], {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
    shell: process.platform === "win32",
  });
  if (status !== 0) {
    console.error(`npm install failed${error ? `: ${error.message}` : ""}; run it by hand to see why`);
    process.exit(1);
  }
  // npm leaves its record alone when nothing had to change; the next run would ask again.
  utimesSync(installed, new Date(), new Date());
}
