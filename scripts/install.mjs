// `npm start` and `npm test` must work on a fresh clone. npm runs this before them: it installs when
// node_modules is absent or does not belong to the lock file, and costs a few milliseconds otherwise.
//
//   node scripts/install.mjs [folder with a lock file of its own] [options of npm ci]
import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { capture } from "./capture.mjs";

const [folder = ".", ...npmOptions] = process.argv.slice(2);
const root = join(import.meta.dirname, "..", folder);
const installed = join(root, "node_modules", ".package-lock.json");
const installedHash = join(root, "node_modules", ".package-lock.sha256");
const lockFile = join(root, "package-lock.json");
const lockHash = createHash("sha256").update(readFileSync(lockFile)).digest("hex");
const windows = process.platform === "win32";
const reportEveryMs = 5_000;

if (!isInstalled()) await install();

/** Whether node_modules belongs to the lock file: by its hash, or by age where npm was run by hand. */
function isInstalled() {
  if (!existsSync(installed)) return false;
  if (existsSync(installedHash)) return readFileSync(installedHash, "utf8") === lockHash;
  return statSync(installed).mtimeMs + 1 >= statSync(lockFile).mtimeMs;
}

async function install() {
  const progress = reportProgress(packagesOfThisPlatform());
  const args = ["ci", "--loglevel=http", "--no-progress", ...npmOptions];
  const options = { cwd: root, shell: windows, onLine: progress.read };
  const { code, output } = await capture(windows ? "npm.cmd" : "npm", args, options);
  progress.end();
  if (code !== 0) {
    console.error(output.replaceAll(/^npm (http|info|verb).*\n/gm, "") || code);
    console.error(`npm ci failed in ${root}: the reason is above; \`npm ci\` runs it again`);
    process.exit(1);
  }
  writeFileSync(installedHash, lockHash);
}

function packagesOfThisPlatform() {
  const { packages } = JSON.parse(readFileSync(lockFile, "utf8"));
  const fits = (allowed, actual) => !allowed || allowed.includes(actual);
  return Object.values(packages).filter(
    ({ os, cpu }) => fits(os, process.platform) && fits(cpu, process.arch),
  ).length;
}

/** npm asks for the description of each package, then for the package: in place on a terminal, else a line every 5 s. */
function reportProgress(packages) {
  const startedAt = performance.now();
  let responses = 0;
  const report = () => {
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    const percent = Math.min(99, Math.floor((50 * responses) / packages));
    const text = `installing ${packages} packages: ${percent} %, ${seconds} s`;
    process.stdout.write(process.stdout.isTTY ? `\r\x1b[K${text}` : `${text}\n`);
  };
  report();
  const timer = setInterval(report, process.stdout.isTTY ? 200 : reportEveryMs);
  return {
    read: (line) => {
      if (/^npm http (fetch GET 200|cache) /.test(line)) responses += 1;
    },
    end: () => {
      clearInterval(timer);
      if (process.stdout.isTTY) process.stdout.write("\r\x1b[K");
    },
  };
}
