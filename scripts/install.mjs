// `npm start` and `npm test` must work on a fresh clone. npm runs this before them: it installs when
// node_modules is absent or does not belong to the lock file, and costs a few milliseconds otherwise.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const installed = join(root, "node_modules", ".package-lock.json");
const installedHash = join(root, "node_modules", ".package-lock.sha256");
const lockFile = join(root, "package-lock.json");
const lockHash = createHash("sha256").update(readFileSync(lockFile)).digest("hex");
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
  const { status, errors } = await runNpm(["ci", "--loglevel=http", "--no-progress"], progress.read);
  progress.end();
  if (status !== 0) {
    process.stderr.write(errors);
    console.error("npm ci failed: the reason is above; `npm ci` runs it again");
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

/** Runs npm; gives its exit code and what it wrote other than the log of its requests. */
function runNpm(args, readLine) {
  const windows = process.platform === "win32";
  return new Promise((resolve) => {
    const npm = spawn(windows ? "npm.cmd" : "npm", args, {
      cwd: root,
      stdio: ["ignore", "ignore", "pipe"],
      shell: windows,
    });
    let errors = "";
    let rest = "";
    npm.stderr.setEncoding("utf8").on("data", (text) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        readLine(line);
        if (!/^npm (http|info|verb)/.test(line)) errors += `${line}\n`;
      }
    });
    npm.once("error", (error) =>
      resolve({ status: 1, errors: `npm could not be started: ${error.message}\n` }),
    );
    npm.once("close", (status) => resolve({ status, errors: errors + rest }));
  });
}
