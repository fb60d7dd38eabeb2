// Copies the declarations that the entry points reach from dist/types to dist/ and, for CommonJS, to dist/cjs/, whose
// package.json makes them declarations of CommonJS modules. Their maps lead to the sources in the tarball.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const root = join(import.meta.dirname, "..");
const types = join(root, "dist/types");
const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

const formats = { "": (target) => target.types, "cjs/": (target) => target.require?.types };
for (const [folder, declarationOf] of Object.entries(formats)) {
  const declarations = Object.values(exports).flatMap((target) => declarationOf(target) ?? []);
  const entries = declarations.filter((path) => path.startsWith(`./dist/${folder}`)); // the root has its own
  const reached = new Set();
  for (const entry of entries) visit(entry.slice(`./dist/${folder}`.length), reached);
  removeOthers(folder, reached);
  for (const path of reached) copy(path, folder);
}

function visit(path, reached) {
  if (reached.has(path)) return;
  reached.add(path);
  const text = readFileSync(join(types, path), "utf8");
  for (const [, specifier] of text.matchAll(/(?:from |import\()"(\.[^"]+)\.(?:ts|js)"/g)) {
    visit(`${join(dirname(path), specifier)}.d.ts`, reached);
  }
}

function copy(path, folder) {
  const to = join(root, "dist", folder, path);
  mkdirSync(dirname(to), { recursive: true });
  cpSync(join(types, path), to);
  const map = JSON.parse(readFileSync(join(types, `${path}.map`), "utf8"));
  // dist/types lies one folder deeper than dist.
  if (folder === "") map.sources = map.sources.map((source) => source.slice("../".length));
  writeFileSync(`${to}.map`, JSON.stringify(map));
}

/** Declarations of sources that were renamed or deleted since the last build. */
function removeOthers(folder, reached) {
  const parent = join(root, "dist", folder);
  for (const product of new Set([...reached].map((path) => path.split("/")[0]))) {
    mkdirSync(join(parent, product), { recursive: true });
    for (const name of readdirSync(join(parent, product), { recursive: true })) {
      const path = `${product}/${String(name).replaceAll("\\", "/")}`;
      const isDeclaration = /\.d\.ts(\.map)?$/.test(path);
      if (isDeclaration && !reached.has(path.replace(/\.map$/, ""))) rmSync(join(parent, path));
    }
  }
}
