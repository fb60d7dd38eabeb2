// A bill of materials (CycloneDX) of what a user gets: the package, what npm installs with it, and what is part of its build.
// npm writes it, from a lock file without the dev dependencies: from the whole one it leaves out what is a peer of those
// as well, zod for example.
//
//   node scripts/sbom.mjs <file>       writes it
//   node scripts/sbom.mjs --check      checks that nothing is missing
//
// Needs a build.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installedPackages, locatePackage } from "./lock-file.mjs";

const root = join(import.meta.dirname, "..");
const read = (file) => readFileSync(join(root, file), "utf8");
const lock = JSON.parse(read("package-lock.json"));
const { name, version, license, dependencies } = JSON.parse(read("package.json"));

const installed = installedPackages(lock);
const bundled = bundledPackages().filter(({ path }) => !installed.some((each) => each.path === path));
const sbom = npmSbom();
addBundled(sbom);
const problems = findProblems(sbom);
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exit(1);
}
const [target] = process.argv.slice(2);
if (target && target !== "--check") writeFileSync(target, `${JSON.stringify(sbom, null, 2)}\n`);
console.log(`SBOM: ${installed.length} packages are installed, ${bundled.length} more are part of the build`);

/** The packages whose code is in the inspector's page; the build lists them for their licences. */
function bundledPackages() {
  const licences = read("dist/mock-server/inspector/page/assets/licences.txt");
  return [...licences.matchAll(/^## (\S+) - (\S+) \(.+\)$/gm)].map(([, packageName, packageVersion]) => {
    const path = locatePackage(lock.packages, "", packageName);
    if (lock.packages[path]?.version !== packageVersion) {
      throw new Error(`${packageName} ${packageVersion} is part of the build, and not of the lock file`);
    }
    return { path, name: packageName };
  });
}

function npmSbom() {
  const folder = mkdtempSync(join(tmpdir(), "workspace-tasks-sbom-"));
  try {
    const manifest = { name, version, license, dependencies };
    const entries = installed.map(({ path }) => {
      const { dev, peer, devOptional, ...entry } = lock.packages[path];
      return [path, entry];
    });
    const packages = { "": manifest, ...Object.fromEntries(entries) };
    writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
    const lockFile = { name, version, lockfileVersion: 3, requires: true, packages };
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

function addBundled({ components, dependencies: graph, metadata }) {
  for (const { path, name: packageName } of bundled) {
    const { version: packageVersion, license: id, integrity } = lock.packages[path];
    const reference = `${packageName}@${packageVersion}`;
    components.push({
      "bom-ref": reference,
      type: "library",
      name: packageName,
      version: packageVersion,
      scope: "required",
      purl: `pkg:npm/${packageName.replace("@", "%40")}@${packageVersion}`,
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

function findProblems({ components, dependencies: graph, metadata }) {
  const expected = [...installed, ...bundled].map(
    ({ path, name: packageName }) => `${packageName}@${lock.packages[path].version}`,
  );
  const listed = components.map((component) => `${component.name}@${component.version}`);
  const references = new Set(graph.map(({ ref }) => ref));
  return [
    ...expected.filter((each) => !listed.includes(each)).map((each) => `${each} is missing`),
    ...listed.filter((each) => !expected.includes(each)).map((each) => `${each} is not shipped`),
    ...components.flatMap(({ "bom-ref": ref, purl, hashes = [], licenses = [] }) => [
      ...(purl ? [] : [`${ref} has no purl`]),
      ...(hashes.some(({ alg, content }) => alg === "SHA-512" && content.length === 128)
        ? []
        : [`${ref} has no hash`]),
      ...(licenses.length > 0 ? [] : [`${ref} has no licence`]),
      ...(references.has(ref) ? [] : [`${ref} is not part of the graph`]),
    ]),
    ...(metadata.component.purl === `pkg:npm/${name}@${version}` ? [] : ["the package itself is not named"]),
  ];
}
