// Joins the sources of each entry point into one file, and shared sources into a few more. Node spends about a third of
// a millisecond of CPU time on every imported module, however small, and the SDK has fifty. Dependencies stay imports,
// and nothing is minified, so that stack traces lead to readable code.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";

const root = join(import.meta.dirname, "..");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const { name, exports, dependencies, peerDependencies } = manifest;
const packages = [name, ...Object.keys({ ...dependencies, ...peerDependencies })];

const publicEntries = Object.values(exports).flatMap((target) => target["workspace-tasks-source"] ?? []);
/** Loaded by bin/workspace-tasks.js and `npm start`. */
const programs = [
  "./cli/command-line.ts",
  "./mock-server/cli/mock-command.ts",
  "./mock-server/cli/trigger-command.ts",
  "./receiver-kit/cli/check-receiver-command.ts",
  "./receiver-kit/cli/inbox-command.ts",
  "./examples/start.ts",
];

const bundle = await rolldown({
  cwd: root,
  input: Object.fromEntries(
    [...publicEntries, ...programs].map((path) => [path.slice("./".length, -".ts".length), path]),
  ),
  platform: "node",
  external: [/^node:/, ...packages.map((each) => new RegExp(`^${each}(?:/|$)`))],
  tsconfig: "tsconfig.build.json",
  transform: { target: "node20.19" },
});
const { output } = await bundle.write({
  dir: join(root, "dist"),
  entryFileNames: "[name].js",
  chunkFileNames: "shared/[name].js",
  minify: false,
});
await bundle.close();

for (const { fileName, moduleIds, code } of output) {
  const dependency = moduleIds.find((id) => id.includes("node_modules"));
  if (dependency) throw new Error(`${fileName}: expected ${dependency} to stay an import`);
  // Errors are named after their classes, so the bundler must not rename a class.
  const [renamed] = /\bclass \w+\$\d+/.exec(code) ?? [];
  if (renamed) throw new Error(`${fileName}: expected classes to keep their names, got ${renamed}`);
}
