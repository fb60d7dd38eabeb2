// Runs the whole test suite, against the build, on other versions of Node than this machine's:
//
//   node test/gates/test-matrix.mjs [22] [24] …        default: 22 24
//
// They come from the package `node` of the npm registry. Needs a build; takes minutes for each version.
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
const asked = process.argv.slice(2);
const versions = asked.length > 0 ? asked : ["22", "24"];

// What npm tells its children would make the npm inside the tests take this folder for its own.
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)));

const failed = versions.filter((version) => {
  console.log(`\n── Node ${version}`);
  const suite = "node node_modules/vitest/vitest.mjs run";
  const { status } = spawnSync("npx", ["-y", "-p", `node@${version}`, "-c", suite], {
    cwd: root,
    env: environment,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  return status !== 0;
});
for (const version of versions) console.log(`${failed.includes(version) ? "✗" : "✓"} Node ${version}`);
if (failed.length > 0) process.exitCode = 1;
