// Builds dist/: types with the compiler, code with the bundler, the inspector's page with Vite. `--clean` removes dist/
// first, so that the output of deleted sources is not published.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const page = "mock-server/inspector/page/vite.config.ts";

if (process.argv.includes("--clean")) rmSync(join(root, "dist"), { recursive: true, force: true });
await Promise.all([
  run("node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json").then(() =>
    run("scripts/declarations.mjs"),
  ),
  run("scripts/bundle.mjs"),
  run("node_modules/vite/bin/vite.js", "build", "--logLevel", "warn", "--config", page),
]);

async function run(script, ...args) {
  const [code] = await once(
    spawn(process.execPath, [script, ...args], { cwd: root, stdio: "inherit" }),
    "close",
  );
  if (code !== 0) process.exit(code ?? 1);
}
