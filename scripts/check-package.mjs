// What users install is the packed tarball, not this folder. These gates look at the tarball: it holds
// what it should and little else, its entry points resolve with types in every way Node and TypeScript
// look for them, and its size cannot grow unnoticed.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// Two module formats, and the sources that maps and "go to definition" lead to. 0.2 MB (0.6 MB unpacked) are the editor of
// the inspector's Run view, with GraphQL's parser and validation; no other part of the package loads it. 0.2 MB (0.9 MB
// unpacked) are receiver-kit/rabbitmq and the command `compare`, in both formats.
// 0.2 MB (0.6 MB unpacked) are the documents, so that every link of the README works offline, and the examples that they show. 0.42 MB, packed and unpacked, are three pictures of the inspector:
// without them the README of the installed package has dead links.
const packedBytesMax = 2_860_000;
const unpackedBytesMax = 11_220_000;
const allowed =
  /^(dist\/(sdk|mock-server|receiver-kit|cli|shared|cjs)\/|(sdk|mock-server|receiver-kit|cli|docs|examples)\/|bin\/|schema\.graphql$|mock-settings\.schema\.json$|package\.json$|llms\.txt$|[A-Z]+\.md$|LICENSE$)/;
// Of examples/frameworks, where the recipes have run.
const installedOrBuilt = /\/node_modules\/|^examples\/.*\/(dist|\.next)\//;
const inspectorSources = /^mock-server\/inspector\/page\//;

const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "workspace-tasks-pack-"));
const run = (command, args, options = {}) =>
  spawnSync(command, args, { cwd: root, encoding: "utf8", ...options });
const fail = (message) => {
  console.error(message);
  process.exitCode = 1;
};

try {
  const packed = run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder]);
  if (packed.status !== 0) throw new Error(`npm pack failed:\n${packed.stderr}`);
  const parsed = JSON.parse(packed.stdout);
  const tarball = Array.isArray(parsed) ? parsed[0] : Object.values(parsed)[0];
  const strangers = tarball.files
    .map(({ path }) => path)
    .filter((path) => !allowed.test(path) || inspectorSources.test(path) || installedOrBuilt.test(path));
  if (strangers.length > 0) fail(`the tarball contains unexpected files: ${strangers.join(", ")}`);
  if (tarball.size > packedBytesMax)
    fail(`the tarball has ${tarball.size} bytes, expected at most ${packedBytesMax}`);
  if (tarball.unpackedSize > unpackedBytesMax)
    fail(`the package unpacks to ${tarball.unpackedSize} bytes, expected at most ${unpackedBytesMax}`);
  console.log(`packed: ${tarball.entryCount} files, ${tarball.size} bytes, ${tarball.unpackedSize} unpacked`);

  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const paths = new Set(tarball.files.map(({ path }) => `./${path}`));
  const filesIn = (target) =>
    typeof target === "string" ? [target] : Object.values(target).flatMap(filesIn);
  const targets = [manifest.exports, manifest.typesVersions, manifest.bin].flatMap(filesIn);
  const absent = targets.filter((target) => !paths.has(target));
  if (absent.length > 0) fail(`entry points that the tarball does not hold: ${absent.join(", ")}`);

  const file = join(folder, tarball.filename);
  const attw = ["node_modules/@arethetypeswrong/cli/dist/index.js", file, "--no-emoji"];
  const notCode = ["schema.graphql", "mock-settings.schema.json", "package.json"];
  const esmOnly = "mock-server/vitest"; // as vitest is
  const gates = [
    ["publint", ["node_modules/publint/src/cli.js", file, "--strict"]],
    ["attw", [...attw, "--exclude-entrypoints", ...notCode, esmOnly]],
    ["attw, ES modules only", [...attw, "--entrypoints", esmOnly, "--profile", "esm-only"]],
  ];
  for (const [name, args] of gates) {
    const { status, stdout, stderr } = run(process.execPath, args);
    if (status !== 0) fail(`${name}:\n${stdout}${stderr}`);
    else console.log(`${name}: passed`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
