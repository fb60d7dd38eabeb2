// Joins the sources of each entry point of a package into one file, and shared sources into a few more: as ES modules, and
// as CommonJS for programs that cannot require an ES module (docs/maintainers/decisions.md). Node spends about a third of a
// millisecond of CPU time on every imported module, however small, and the SDK has fifty. Dependencies and peers stay
// imports; what a package only develops with is built into it. Nothing is minified, so that stack traces lead to readable
// code.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { rolldown } from "rolldown";
import { dts } from "rolldown-plugin-dts";
import { readPage } from "../sdk/kernel/built-page.ts";
import { kernel, pages, root } from "./packages.ts";

const compiled = join(root, ".tmp/types");

export async function buildPackage({ folder, manifest, entries }) {
  const dist = join(root, folder, "dist");
  const built = pages.filter(({ of }) => of === folder).map(({ out }) => out);
  for (const name of exists(dist)) if (!built.includes(name)) rmSync(join(dist, name), { recursive: true });
  const { dependencies, peerDependencies, devDependencies } = manifest;
  const imported = Object.keys({ ...dependencies, ...peerDependencies });
  const external = [/^node:/, ...[manifest.name, ...imported].map((name) => new RegExp(`^${name}(?:/|$)`))];
  const bundled = new Set();
  const bundle = async (entries, plugins, output) => {
    const isDeclarations = output.entryFileNames.endsWith(".d.ts");
    const build = await rolldown({
      cwd: root,
      input: Object.fromEntries(entries.map(({ out, input }) => [out, input])),
      platform: "node",
      checks: { pluginTimings: false, ineffectiveDynamicImport: false },
      external,
      plugins,
      tsconfig: join(root, "tsconfig.json"),
      transform: { target: "node20.19" },
    });
    // Doc comments are in the declarations, where editors look for them.
    const comments = { legal: true, annotation: true, jsdoc: isDeclarations };
    const written = await build.write({ ...output, comments, dir: dist, minify: false });
    await build.close();
    return written.output;
  };
  const named = (extension) => ({
    entryFileNames: `[name].${extension}`,
    chunkFileNames: `shared/[name].${extension}`,
  });
  const sources = entries.map((entry) => ({ ...entry, input: join(root, folder, entry.source) }));
  const plugins = [withoutGraphQL, withPages(folder)];
  const code = [
    ...(await bundle(sources, plugins, { format: "esm", ...named("js") })),
    ...(await bundle(
      sources.filter(({ esmOnly }) => !esmOnly),
      plugins,
      // Jest has no `import()` in CommonJS.
      { format: "cjs", exports: "named", dynamicImportInCjs: false, ...named("cjs") },
    )),
  ];
  for (const file of code) {
    for (const name of packagesIn(file)) bundled.add(name);
    requireClassNames(folder, file);
  }
  const known = { ...devDependencies, ...kernel.manifest.devDependencies };
  for (const name of bundled) {
    if (!known[name])
      throw new Error(`${folder}: expected ${name} to stay an import, or to be a devDependency`);
  }
  const declarations = entries.map((entry) => ({
    ...entry,
    input: join(compiled, folder, entry.source.replace(/\.ts$/, ".d.ts")),
  }));
  const types = await bundle(declarations, [kernelTypes, dts({ dtsInput: true })], {
    format: "esm",
    ...named("d.ts"),
  });
  for (const file of types) referToLibraries(dist, file);
  declareCommonJS(dist);
  writeLicences(dist, [...bundled].sort());
}

const exists = (folder) => {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
};

/** Gives graphql-request the names that it imports from graphql; the SDK sends strings, so it calls none of them. */
const withoutGraphQL = {
  name: "without-graphql",
  resolveId(source, importer) {
    const isInlined = importer?.includes(`${sep}node_modules${sep}graphql-request${sep}`);
    return isInlined && source === "graphql" ? "\0graphql-names" : undefined;
  },
  load: (id) =>
    id === "\0graphql-names"
      ? `const unused = () => { throw new Error("expected a document that is a string"); };
         export { unused as parse, unused as print };
         export const Kind = {};`
      : undefined,
};

/** Puts the texts of pages, which are built before, in the place of the modules that read their files. */
const withPages = (folder) => ({
  name: "with-pages",
  load(id) {
    const page = pages.find(({ of, module }) => of === folder && module && id === join(root, of, module));
    if (!page) return undefined;
    const files = [...readPage(join(root, folder, "dist", page.out))].map(([path, bytes]) => [
      path,
      new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes),
    ]);
    return `const files = ${JSON.stringify(files)};
      export const readPageFiles = () =>
        new Map(files.map(([path, text]) => [path, new TextEncoder().encode(text)]));`;
  },
});

/** Declarations import the kernel by its name, whose own declarations lie beside theirs. */
const kernelTypes = {
  name: "kernel-types",
  resolveId: {
    order: "pre",
    handler(source) {
      const [, file] = /^@workspace-tasks\/kernel\/(.+)\.[jt]s$/.exec(source) ?? [];
      return file === undefined ? undefined : join(compiled, kernel.folder, `${file}.d.ts`);
    },
  },
};

/** Libraries of TypeScript that a program may not have among its own; the bundler drops what asks for them. */
function referToLibraries(dist, { fileName, moduleIds, code }) {
  const asked = moduleIds.flatMap(
    (id) => readFileSync(id, "utf8").match(/^\/\/\/ <reference lib="[^"]+"/gm) ?? [],
  );
  const references = [...new Set(asked)].map((start) => `${start} />\n`).join("");
  if (references) writeFileSync(join(dist, fileName), references + code);
}

function packagesIn({ moduleIds = [] }) {
  return moduleIds.flatMap((id) => {
    const [, name] =
      /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules)/.exec(id.split(sep).join("/")) ?? [];
    return name ? [name] : [];
  });
}

/** Errors are named after their classes, so the bundler must not rename a class. */
function requireClassNames(folder, { fileName, code = "" }) {
  const [renamed] = /\bclass \w+\$\d+/.exec(code) ?? [];
  if (renamed) throw new Error(`${folder} ${fileName}: expected classes to keep their names, got ${renamed}`);
}

/** Writes the same declarations for CommonJS, where an import of a file has another ending. */
function declareCommonJS(dist) {
  for (const file of readdirSync(dist, { recursive: true }).filter((name) => name.endsWith(".d.ts"))) {
    const text = readFileSync(join(dist, file), "utf8");
    const changed = text.replaceAll(/(from "\.[^"]*)\.(?:d\.)?(?:js|ts)"/g, '$1.cjs"');
    writeFileSync(join(dist, file.replace(/\.d\.ts$/, ".d.cts")), changed);
  }
}

/** The texts must accompany every copy of what is built in. */
function writeLicences(dist, names) {
  if (names.length === 0) return;
  mkdirSync(join(dist, "licences"), { recursive: true });
  for (const name of names) {
    const folder = join(root, "node_modules", name);
    const text = readdirSync(folder).find((file) => /^licen[sc]e/i.test(file));
    if (!text) throw new Error(`${relative(root, folder)}: expected a file with its licence`);
    copyFileSync(join(folder, text), join(dist, "licences", `${name.replace("/", "+")}.txt`));
  }
}
