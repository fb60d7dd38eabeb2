// Tests with many cases, such as seeds, mutants and generated arguments: `npm test` takes some of each, always the same
// ones; this takes all, and new random ones. A property that fails prints its seed.
//
//   node scripts/full-depth.mjs [options of vitest]
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectFiles } from "./project-files.mjs";

const root = join(import.meta.dirname, "..");
const files = projectFiles(root, ".test.ts").filter((file) =>
  /support\/depth\.ts"|from "fast-check"/.test(readFileSync(join(root, file), "utf8")),
);
const vitest = ["node_modules/vitest/vitest.mjs", "run", ...files, ...process.argv.slice(2)];
const env = { ...process.env, WORKSPACE_TASKS_DEPTH: "full" };
process.exitCode = spawnSync(process.execPath, vitest, { cwd: root, stdio: "inherit", env }).status ?? 1;
