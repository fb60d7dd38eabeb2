// The sources pass their tests on the Node of this machine; what users get is the tarball on the Node of
// theirs. This packs the build, installs the tarball into an empty project without the optional peers, and
// walks through the SDK once with `import` and once with `require`, on each version of Node that is asked for:
//
//   node scripts/node-matrix.mjs [current] [22] [24] …    default: current 22 24
//   --json prints the report as JSON, with the modules that were loaded
//
// Needs a build. Versions other than the current one come from the package `node` of the npm registry.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { capture } from "./capture.mjs";

const root = join(import.meta.dirname, "..");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const json = process.argv.includes("--json");
const asked = process.argv.slice(2).filter((argument) => argument !== "--json");
const versions = asked.length > 0 ? asked : ["current", "22", "24"];
const walkTimeoutMs = 300_000;

const project = mkdtempSync(join(tmpdir(), "workspace-tasks-packed-"));
try {
  install(project);
  const { createMockServer } = await import(pathToFileURL(join(root, "dist/mock-server/index.js")).href);
  const mock = await createMockServer();
  const report = [];
  for (const version of versions) {
    for (const entry of ["with-import.mjs", "with-require.cjs"]) {
      const result = await walk(version, entry, mock);
      report.push(result);
      if (!json) console.log(`${result.ok ? "✓" : "✗"} node ${version} ${entry}: ${result.output.trim()}`);
    }
  }
  await mock.close();
  if (json) console.log(JSON.stringify(report));
  if (report.some(({ ok }) => !ok)) process.exitCode = 1;
} finally {
  rmSync(project, { recursive: true, force: true });
}

/** The tarball unpacked where npm would put it, beside its dependencies and nothing else. */
function install(folder) {
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const shell = process.platform === "win32";
  const pack = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const packed = spawnSync(npm, pack, { cwd: root, encoding: "utf8", shell });
  if (packed.status !== 0) throw new Error(`npm pack failed:\n${packed.stderr}`);
  const parsed = JSON.parse(packed.stdout);
  const { filename } = Array.isArray(parsed) ? parsed[0] : Object.values(parsed)[0];
  const modules = join(folder, "node_modules");
  mkdirSync(modules);
  const untar = spawnSync("tar", ["-xzf", join(folder, filename), "-C", modules], { encoding: "utf8" });
  if (untar.status !== 0) throw new Error(`tar failed:\n${untar.stderr}`);
  cpSync(join(modules, "package"), join(modules, manifest.name), { recursive: true });
  rmSync(join(modules, "package"), { recursive: true });
  for (const name of Object.keys(manifest.dependencies)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, "node_modules", name), join(modules, name), "junction");
  }
  cpSync(join(root, "scripts/packed-sdk"), folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "packed", private: true }));
}

async function walk(version, entry, mock) {
  const moduleLog = join(project, "modules.log");
  writeFileSync(moduleLog, "");
  const args = ["--import", pathToFileURL(join(project, "module-log.mjs")).href, join(project, entry)];
  const [command, ...rest] =
    version === "current" ? [process.execPath, ...args] : ["npx", "-y", `node@${version}`, ...args];
  const { code, stdout, output } = await capture(command, rest, {
    cwd: project,
    env: {
      ...process.env,
      MODULE_LOG: moduleLog,
      BASE_URL: mock.baseUrl,
      GATEWAY_URL: mock.gatewayUrl,
      API_KEY: mock.apiKey,
      PARTNER_API_KEY: mock.partnerApiKey,
    },
    timeout: walkTimeoutMs,
    shell: process.platform === "win32" && version !== "current",
  });
  const modules = [...new Set(readFileSync(moduleLog, "utf8").split("\n").filter(Boolean))];
  const ok = code === 0;
  return { version, entry, ok, output: ok ? stdout : `${output}ended with ${code}`, modules };
}
