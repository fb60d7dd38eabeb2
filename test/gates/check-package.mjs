// What users install are tarballs, not this folder. This looks into each: it holds what it should and nothing else, and its
// entry points resolve with types in every way Node and TypeScript look for them.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { packPackages } from "../../scripts/pack.ts";
import { packages, root } from "../../scripts/packages.ts";

const folder = mkdtempSync(join(tmpdir(), "workspace-tasks-pack-"));
const always = ["package.json", "README.md", "LICENSE", "CHANGELOG.md"];
let failed = false;

try {
  const tarballs = packPackages(folder);
  for (const each of packages) check(each, tarballs.get(each.name));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (failed) process.exitCode = 1;

function check({ name, manifest, entries }, tarball) {
  const { stdout } = run("tar", ["-tzf", basename(tarball)], folder);
  const files = stdout
    .trim()
    .split("\n")
    .map((path) => path.replace("package/", ""));
  const { files: own = [], documents = [] } = manifest;
  const allowed = [...always, ...own, ...documents, "dist"];
  const strangers = files.filter(
    (file) => !allowed.some((each) => file === each || file.startsWith(`${each}/`)),
  );
  if (strangers.length > 0) fail(`${name}: unexpected files: ${strangers.join(", ")}`);
  const absent = allowed.filter(
    (each) => !files.some((file) => file === each || file.startsWith(`${each}/`)),
  );
  if (absent.length > 0) fail(`${name}: missing files: ${absent.join(", ")}`);
  const sources = files.filter((file) => /(?<!\.d)\.tsx?$|\.map$/.test(file));
  if (sources.length > 0) fail(`${name}: sources beside the build: ${sources.join(", ")}`);
  const pages = files.filter((file) => file.endsWith(".md")).map((file) => `package/${file}`);
  const texts = run("tar", ["-xzOf", basename(tarball), ...pages], folder).stdout;
  if (texts.includes("@include:")) fail(`${name}: a document lacks a table that it includes`);
  const types = files.filter((file) => /\.d\.[cm]?ts$/.test(file)).map((file) => `package/${file}`);
  const declared = run("tar", ["-xzOf", basename(tarball), ...types], folder).stdout;
  if (declared.replace(/\/\*.*?\*\//gs, "").includes("Uint8Array<"))
    fail(`${name}: types that TypeScript before 5.7 does not have: Uint8Array<…>`);
  const attw = ["node_modules/@arethetypeswrong/cli/dist/index.js", tarball, "--no-emoji"];
  const notCode = [
    ...Object.entries(manifest.exports).flatMap(([path, target]) =>
      typeof target === "string" ? [path] : [],
    ),
    ...documents.filter((file) => file === "schema.graphql").map((file) => `./${file}`),
  ];
  const esmOnly = entries.filter((entry) => entry.esmOnly).map(({ path }) => path);
  const gates = [["publint", ["node_modules/publint/src/cli.js", tarball, "--strict"]]];
  if (esmOnly.length < entries.length)
    gates.push([
      "attw",
      [...attw, "--exclude-entrypoints", ...[...notCode, ...esmOnly].map((path) => path.slice(2))],
    ]);
  if (esmOnly.length > 0)
    gates.push([
      "attw, ES modules only",
      [...attw, "--entrypoints", ...esmOnly.map((path) => path.slice(2)), "--profile", "esm-only"],
    ]);
  for (const [title, args] of gates) {
    const { status, stdout, stderr } = run(process.execPath, args);
    if (status !== 0) fail(`${name}, ${title}:\n${stdout}${stderr}`);
  }
  console.log(`${name}: ${files.length} files, publint and attw passed`);
}

function run(command, args, cwd = root) {
  return spawnSync(command, args, { cwd, encoding: "utf8", maxBuffer: 64 * 1_024 * 1_024 });
}

function fail(message) {
  console.error(message);
  failed = true;
}
