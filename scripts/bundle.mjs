// Joins the sources of each entry point into one file, and what entry points share into a few more. Node spends about
// a third of a millisecond of processor time on every module it imports, however small, and the SDK has fifty.
// Dependencies stay imports, and nothing is minified: a stack trace leads to code that can be read.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const { name, exports, dependencies, peerDependencies } = manifest;
const packages = [name, ...Object.keys({ ...dependencies, ...peerDependencies })];

const publicEntries = Object.values(exports).flatMap((target) => target["workspace-tasks-source"] ?? []);
/** What bin/workspace-tasks.js and `npm start` load. */
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
  const foreign = moduleIds.find((id) => id.includes("node_modules"));
  if (foreign) throw new Error(`${fileName}: expected a dependency to stay an import, got ${foreign} inside`);
  // Errors are named after their classes, so a class must keep its name beside another of the same name.
  const [renamed] = /\bclass \w+\$\d+/.exec(code) ?? [];
  if (renamed) throw new Error(`${fileName}: expected every class to keep its name, got ${renamed}`);
}
