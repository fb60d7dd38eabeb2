// Builds dist/: types with the compiler, code with the bundler, the inspector's page with Vite. `--clean` removes dist/
// first, so that the output of deleted sources is not published.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const page = "mock-server/inspector/page/vite.config.ts";

if (process.argv.includes("--clean")) rmSync(join(root, "dist"), { recursive: true, force: true });
run("node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json");
run("scripts/bundle.mjs");
run("node_modules/vite/bin/vite.js", "build", "--logLevel", "warn", "--config", page);

function run(script, ...args) {
  const { status } = spawnSync(process.execPath, [script, ...args], { cwd: root, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
