// Builds dist/: types with the compiler, code with the bundler, the inspector's page with Vite; nothing when it was built
// from the same sources before. `--clean` removes dist/ first, so that the output of deleted sources is not published, and sets the modes of files, which npm packs as they are:
// the same sources give the same tarball whatever the file mode mask is.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { isBuilt, setBuilt, setUnbuilt } from "./build-inputs.mjs";

const root = join(import.meta.dirname, "..");
const page = "mock-server/inspector/page/vite.config.ts";

const clean = process.argv.includes("--clean");
if (clean) rmSync(join(root, "dist"), { recursive: true, force: true });
if (!isBuilt()) {
  setUnbuilt();
  await Promise.all([
    run("node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json").then(() =>
      run("scripts/declarations.mjs"),
    ),
    run("scripts/bundle.mjs"),
    run("node_modules/vite/bin/vite.js", "build", "--logLevel", "warn", "--config", page),
  ]);
  setBuilt();
}

if (clean) {
  const { files } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const packed = files.filter((file) => !file.startsWith("!"));
  for (const file of [...packed, "package.json", "README.md", "LICENSE"]) setMode(join(root, file));
}

function setMode(path) {
  const stats = statSync(path);
  if (stats.isDirectory()) for (const name of readdirSync(path)) setMode(join(path, name));
  else chmodSync(path, stats.mode & 0o100 ? 0o755 : 0o644);
}

async function run(script, ...args) {
  const [code] = await once(
    spawn(process.execPath, [script, ...args], { cwd: root, stdio: "inherit" }),
    "close",
  );
  if (code !== 0) process.exit(code ?? 1);
}
