// Joins the sources of each entry point into one file, and shared sources into a few more: as ES modules, and as
// CommonJS for programs that cannot require an ES module (docs/maintainers/decisions.md). Node spends about a
// third of a millisecond of CPU time on every imported module, however small, and the SDK has fifty. Dependencies stay
// imports, all but graphql-request; nothing is minified, so that stack traces lead to readable code.
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join, sep } from "node:path";
import { rolldown } from "rolldown";
import { commands } from "../mock-server/tools/bin/commands.js";

const root = join(import.meta.dirname, "..");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const { name, exports, dependencies, peerDependencies } = manifest;
// Its import of graphql would load 267 KB that the SDK never calls.
const inlined = "graphql-request";
const imported = [name, ...Object.keys({ ...dependencies, ...peerDependencies })].filter(
  (each) => each !== inlined && each !== "graphql",
);

const entries = Object.values(exports).filter((target) => target["workspace-tasks-source"]);
/** Loaded by bin/workspace-tasks.js and `npm start`. */
const programs = [
  ...["sdk/kernel/cli/ask", "sdk/kernel/cli/command-line", "examples/start"],
  ...Object.values(commands).map(({ module }) => module),
].map((module) => `./${module}.ts`);
const sourceOf = (target) => target["workspace-tasks-source"];

/** Gives graphql-request the names that it imports from graphql; the SDK sends strings, so it calls none of them. */
const withoutGraphQL = {
  name: "without-graphql",
  resolveId(source, importer) {
    if (!/^graphql(?:\/|$)/.test(source)) return undefined;
    const isInlined = importer?.includes(`${sep}node_modules${sep}${inlined}${sep}`);
    return isInlined ? "\0graphql-names" : { id: source, external: true };
  },
  load: (id) =>
    id === "\0graphql-names"
      ? `const unused = () => { throw new Error("expected a document that is a string"); };
         export { unused as parse, unused as print };
         export const Kind = {};`
      : undefined,
};

await bundle("dist", [...entries.map(sourceOf), ...programs], {
  format: "esm",
  sourcemap: true,
});
await bundle("dist/cjs", entries.filter(({ require }) => require).map(sourceOf), {
  format: "cjs",
  exports: "named",
  // Jest has no `import()` in CommonJS.
  dynamicImportInCjs: false,
});
writeFileSync(join(root, "dist/cjs/package.json"), `${JSON.stringify({ type: "commonjs" })}\n`);
copyFileSync(join(root, "node_modules", inlined, "LICENSE"), join(root, `dist/sdk/${inlined}.LICENSE`));

async function bundle(folder, sources, output) {
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(sources.map((path) => [path.slice("./".length, -".ts".length), path])),
    platform: "node",
    external: [/^node:/, ...imported.map((each) => new RegExp(`^${each}(?:/|$)`))],
    plugins: [withoutGraphQL],
    tsconfig: "tsconfig.build.json",
    transform: { target: "node20.19" },
  });
  const written = await build.write({
    ...output,
    dir: join(root, folder),
    entryFileNames: "[name].js",
    chunkFileNames: "shared/[name].js",
    // Every product needs most of it: one file instead of ten.
    codeSplitting: { groups: [{ name: "kernel", test: /sdk\/kernel\/[a-z-]+\.ts$/ }] },
    minify: false,
  });
  await build.close();
  for (const file of written.output) {
    check(file);
    if (file.fileName.endsWith(".map")) omitShippedSources(join(root, folder, file.fileName));
  }
}

/** The tarball holds the sources; a map contains only those of what was joined in. */
function omitShippedSources(path) {
  const map = JSON.parse(readFileSync(path, "utf8"));
  const isShipped = (source) => /^(\.\.\/)+(sdk|mock-server|receiver-kit)\//.test(source);
  map.sourcesContent = map.sources.map((source, index) =>
    isShipped(source) ? null : map.sourcesContent[index],
  );
  writeFileSync(path, JSON.stringify(map));
}

function check({ fileName, moduleIds = [], code }) {
  const dependency = moduleIds.find((id) => id.includes("node_modules") && !id.includes(inlined));
  if (dependency) throw new Error(`${fileName}: expected ${dependency} to stay an import`);
  // Errors are named after their classes, so the bundler must not rename a class.
  const [renamed] = /\bclass \w+\$\d+/.exec(code ?? "") ?? [];
  if (renamed) throw new Error(`${fileName}: expected classes to keep their names, got ${renamed}`);
}
