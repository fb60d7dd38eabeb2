// Builds every package into its dist/: types with the compiler, code and declarations with the bundler, the inspector's
// page with Vite, descriptions for other languages; nothing when it was built from the same sources before.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { isBuilt, setBuilt, setUnbuilt } from "./build-inputs.ts";
import { packages, pages, root } from "./packages.ts";

if (!isBuilt()) {
  console.log(`building ${packages.length} packages`);
  setUnbuilt();
  await Promise.all([
    run("typescript-7/bin/tsc", "-b", ...packages.map(({ folder }) => folder)),
    ...pages.map(({ folder }) =>
      run("vite/bin/vite.js", "build", "--logLevel", "warn", "--config", `${folder}/vite.config.ts`),
    ),
  ]);
  await buildPackages();
  const { writeDescriptions } = await import("./write-descriptions.ts");
  await writeDescriptions();
  setBuilt();
}

async function buildPackages() {
  const { buildPackage } = await import("./build-package.mjs");
  for (const each of packages) await buildPackage(each);
}

async function run(program, ...args) {
  const script = join(root, "node_modules", program);
  const [code] = await once(
    spawn(process.execPath, [script, ...args], { cwd: root, stdio: "inherit" }),
    "close",
  );
  if (code !== 0) process.exit(code ?? 1);
}
