// The recipes of docs/recipes with the real frameworks: installs these and the tarballs in examples/frameworks, compiles
// everything as a user does, and runs test/system/frameworks.
//
//   node --import tsx test/gates/framework-recipes.mjs [options of vitest]
//
// Needs a build.
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { capture } from "../../scripts/capture.mjs";
import { packPackages } from "../../scripts/pack.ts";
import { root } from "../../scripts/packages.ts";

const frameworks = join(root, "examples/frameworks");
const windows = process.platform === "win32";
const npm = windows ? "npm.cmd" : "npm";
const env = { ...process.env, NEXT_TELEMETRY_DISABLED: "1", NODE_ENV: "production" };

await run("install", process.execPath, ["scripts/install.mjs", "examples/frameworks", "--ignore-scripts"]);
rmSync(join(frameworks, "dist"), { recursive: true, force: true });
await installPackages();
await Promise.all([
  run("compile", process.execPath, [module("typescript/bin/tsc"), "-p", frameworks]),
  // The tsconfig.json that docs/recipes/test-runners.md shows, with the TypeScript that it installs.
  run("compile the test for Jest", process.execPath, [
    join(root, "node_modules/typescript/bin/tsc"),
    ...["--noEmit", "-p", join(frameworks, "runners")],
  ]),
  run("next build", process.execPath, [module("next/dist/bin/next"), "build", join(frameworks, "next")], {
    env,
  }),
]);
const vitest = [
  "node_modules/vitest/vitest.mjs",
  "run",
  "--config",
  "test/system/frameworks/vitest.config.ts",
];
const tests = [...vitest, ...process.argv.slice(2)];
process.exitCode = spawnSync(process.execPath, tests, { cwd: root, stdio: "inherit" }).status ?? 1;

function module(path) {
  return join(frameworks, "node_modules", path);
}

/** As a user installs them, with their dependencies from the registry. The lock file has the frameworks alone. */
async function installPackages() {
  const folder = join(frameworks, "dist/packages");
  mkdirSync(folder, { recursive: true });
  const quietly = ["--no-save", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"];
  const install = ["install", ...quietly, ...packPackages(folder).values()];
  await run("install the packages", npm, install, { cwd: frameworks, shell: windows });
}

async function run(title, command, args, options = {}) {
  const startedAt = performance.now();
  const result = await capture(command, args, { cwd: root, ...options });
  console.log(`${title}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  if (result.code === 0) return result;
  console.error(result.output);
  process.exit(1);
}
