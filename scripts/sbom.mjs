// A bill of materials (CycloneDX) of each package: what npm installs with it, and what is part of its build. npm writes it,
// from a lock file without the dev dependencies: from the whole one it leaves out what is a peer of those as well.
//
//   node --import tsx scripts/sbom.mjs <folder>     writes <folder>/<package>.cdx.json
//   node --import tsx scripts/sbom.mjs --check      checks that nothing is missing
//
// Needs a build.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundledPackages } from "./bundled.mjs";
import { installedPackages } from "./lock-file.mjs";
import { packages, readJson } from "./packages.ts";

const lock = readJson("package-lock.json");
const [target] = process.argv.slice(2);
const writes = target !== undefined && target !== "--check";
if (writes) mkdirSync(target, { recursive: true });
for (const each of packages) {
  const installed = installedPackages(lock, each.folder);
  const bundled = bundledPackages(each, lock).filter(
    ({ path }) => !installed.some((one) => one.path === path),
  );
  const sbom = npmSbom(each, installed);
  addBundled(sbom, bundled);
  const problems = findProblems(sbom, each, installed, bundled);
  if (problems.length > 0) {
    console.error(problems.map((problem) => `${each.name}: ${problem}`).join("\n"));
    process.exitCode = 1;
  }
  const file = `${each.name.replace("@workspace-tasks/", "")}.cdx.json`;
  if (writes) writeFileSync(join(target, file), `${JSON.stringify(sbom, null, 2)}\n`);
  console.log(
    `${each.name}: ${installed.length} packages are installed, ${bundled.length} more are part of the build`,
  );
}

function npmSbom({ manifest }, installed) {
  const { name, version, license, dependencies = {} } = manifest;
  const folder = mkdtempSync(join(tmpdir(), "workspace-tasks-sbom-"));
  try {
    const own = { name, version, license, dependencies };
    const entries = installed.map((each) => {
      const { dev, peer, devOptional, devDependencies, ...entry } = lock.packages[each.path];
      return [each.isOwn ? `node_modules/${each.name}` : each.path, entry];
    });
    const lockFile = {
      name,
      version,
      lockfileVersion: 3,
      requires: true,
      packages: { "": own, ...Object.fromEntries(entries) },
    };
    writeFileSync(join(folder, "package.json"), JSON.stringify(own));
    writeFileSync(join(folder, "package-lock.json"), JSON.stringify(lockFile));
    const args = ["sbom", "--package-lock-only", "--sbom-format", "cyclonedx", "--sbom-type", "library"];
    const windows = process.platform === "win32";
    const run = spawnSync(windows ? "npm.cmd" : "npm", args, {
      cwd: folder,
      encoding: "utf8",
      shell: windows,
    });
    if (run.status !== 0) throw new Error(`npm sbom failed:\n${run.stderr}`);
    const { serialNumber, ...written } = JSON.parse(run.stdout);
    // The same lock file gives the same bytes.
    delete written.metadata.timestamp;
    written.metadata.component.name = name;
    return written;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function addBundled({ components, dependencies: graph, metadata }, bundled) {
  for (const { path, name } of bundled) {
    const { version, license: id, integrity } = lock.packages[path];
    const reference = `${name}@${version}`;
    components.push({
      "bom-ref": reference,
      type: "library",
      name,
      version,
      scope: "required",
      purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
      properties: [{ name: "workspace-tasks:bundled", value: "true" }],
      hashes: [
        { alg: "SHA-512", content: Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex") },
      ],
      licenses: [{ license: { id } }],
    });
    graph.push({ ref: reference, dependsOn: [] });
    graph.find(({ ref }) => ref === metadata.component["bom-ref"]).dependsOn.push(reference);
  }
}

function findProblems({ components, dependencies: graph, metadata }, { name, manifest }, installed, bundled) {
  const own = new Set(installed.filter(({ isOwn }) => isOwn).map((each) => each.name));
  const expected = [...installed, ...bundled].map(
    (each) => `${each.name}@${lock.packages[each.path].version}`,
  );
  const nameOf = ({ group, name: short }) => (group ? `${group}/${short}` : short);
  const listed = components.map((component) => `${nameOf(component)}@${component.version}`);
  const references = new Set(graph.map(({ ref }) => ref));
  return [
    ...expected.filter((each) => !listed.includes(each)).map((each) => `${each} is missing`),
    ...listed.filter((each) => !expected.includes(each)).map((each) => `${each} is not shipped`),
    ...components.flatMap((component) => {
      const { "bom-ref": ref, purl, hashes = [], licenses = [] } = component;
      // A package of this repository has its hash when it is published.
      const hasHash = hashes.some(({ alg, content }) => alg === "SHA-512" && content.length === 128);
      return [
        ...(purl ? [] : [`${ref} has no purl`]),
        ...(hasHash || own.has(nameOf(component)) ? [] : [`${ref} has no hash`]),
        ...(licenses.length > 0 ? [] : [`${ref} has no licence`]),
        ...(references.has(ref) ? [] : [`${ref} is not part of the graph`]),
      ];
    }),
    ...(metadata.component.purl === `pkg:npm/${name.replace("@", "%40")}@${manifest.version}`
      ? []
      : [`the package itself is not named, got ${metadata.component.purl}`]),
  ];
}
