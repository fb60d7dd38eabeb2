// A bill of materials (CycloneDX) of each package, from the lock file: what npm installs with it, and what is part of its build.
//
//   node --import tsx scripts/sbom.mjs <folder>     writes <folder>/<package>.cdx.json
//   node --import tsx scripts/sbom.mjs --check      fails when a hash or a licence is missing, and writes nothing
//
// Needs a build.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundledPackages } from "./bundled.mjs";
import { installedPackages, locatePackage } from "./lock-file.mjs";
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
  const sbom = sbomOf(each, installed, bundled);
  const file = `${each.name.replace("@workspace-tasks/", "")}.cdx.json`;
  if (writes) writeFileSync(join(target, file), `${JSON.stringify(sbom, null, 2)}\n`);
  console.log(
    `${each.name}: ${installed.length} packages are installed, ${bundled.length} more are part of the build`,
  );
}

/** The same lock file gives the same bytes: it has neither a time nor a serial number. */
function sbomOf({ folder, name }, installed, bundled) {
  const own = { path: folder, name, isOwn: true };
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.5.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: { lifecycles: [{ phase: "pre-build" }], component: componentOf(own) },
    components: [
      ...installed.map(componentOf),
      ...bundled.map((each) => ({
        ...componentOf(each),
        properties: [{ name: "workspace-tasks:bundled", value: "true" }],
      })),
    ],
    dependencies: [
      { ref: referenceOf(own), dependsOn: [...dependenciesOf(own), ...bundled.map(referenceOf)] },
      ...installed.map((each) => ({ ref: referenceOf(each), dependsOn: dependenciesOf(each) })),
      ...bundled.map((each) => ({ ref: referenceOf(each), dependsOn: [] })),
    ],
  };
}

function referenceOf({ path, name }) {
  return `${name}@${lock.packages[path].version}`;
}

function dependenciesOf({ path }) {
  return Object.keys(lock.packages[path].dependencies ?? {}).flatMap((name) => {
    const found = locatePackage(lock.packages, path, name);
    return found ? [referenceOf({ path: found, name })] : [];
  });
}

/** @throws for a package without a licence or a hash; one of this repository has its hash when it is published */
function componentOf({ path, name, isOwn = false }) {
  const { version, license, integrity } = lock.packages[path];
  const [algorithm, digest] = integrity?.split("-") ?? [];
  if (!license) throw new Error(`${name} ${version} has no licence in the lock file`);
  if (!isOwn && algorithm !== "sha512") throw new Error(`${name} ${version} has no SHA-512 in the lock file`);
  return {
    "bom-ref": `${name}@${version}`,
    type: "library",
    name,
    version,
    scope: "required",
    purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
    ...(digest && {
      hashes: [{ alg: "SHA-512", content: Buffer.from(digest, "base64").toString("hex") }],
    }),
    licenses: [/^[\w.-]+$/.test(license) ? { license: { id: license } } : { expression: license }],
  };
}
