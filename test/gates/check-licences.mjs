// Lists the licence of everything that a user of a package gets, installed with it or part of its build, and fails when one
// is not permitted in a product. Needs a build. Users choose and install optional peers themselves.
import { bundledPackages } from "../../scripts/bundled.mjs";
import { installedPackages } from "../../scripts/lock-file.mjs";
import { packages, readJson } from "../../scripts/packages.ts";

const permitted = new Set(["MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "0BSD", "Unlicense"]);
const lock = readJson("package-lock.json");

const rows = packages.flatMap((each) => {
  const installed = installedPackages(lock, each.folder).filter(({ isOwn }) => !isOwn);
  const bundled = bundledPackages(each, lock);
  return [
    ...installed.map(({ path, name }) => rowOf(each, path, name, "installed")),
    ...bundled.map(({ path, name }) => rowOf(each, path, name, "built in")),
  ].sort((a, b) => a.name.localeCompare(b.name));
});
const rejected = rows.filter(({ licence }) => !permitted.has(licence));
if (rejected.length > 0) {
  const names = rejected.map(({ name, licence }) => `${name} (${licence})`);
  console.error(`licences that are not permitted: ${names.join(", ")}`);
  process.exit(1);
}
for (const { of, name, how, version, licence } of rows)
  console.log(`${of}: ${name} ${version}, ${licence}, ${how}`);
console.log(`licences: ${new Set(rows.map(({ name }) => name)).size} packages, all permitted`);

function rowOf({ name: of }, path, name, how) {
  const { version, license = "unknown" } = lock.packages[path];
  return { of, name, how, version, licence: license };
}
