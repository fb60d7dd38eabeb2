// Builds dist/: the compiler writes the types, the bundler the code, Vite the inspector's page. `--clean` starts from
// nothing, as packing must: otherwise the output of a deleted file would stay behind, and be published.
import { spawnSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const run = (script, ...args) => {
  const { status } = spawnSync(process.execPath, [join(root, script), ...args], {
    cwd: root,
    stdio: "inherit",
  });
  if (status !== 0) process.exit(status ?? 1);
};

if (process.argv.includes("--clean")) rmSync(join(root, "dist"), { recursive: true, force: true });
run("node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json");
run("scripts/bundle.mjs");
if (existsSync(join(root, "mock-server/inspector/page/vite.config.ts"))) {
  run(
    "node_modules/vite/bin/vite.js",
    "build",
    "--logLevel",
    "warn",
    "--config",
    "mock-server/inspector/page/vite.config.ts",
  );
}
