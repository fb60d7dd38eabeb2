// Lists the licence of everything that a user of a package gets, installed with it or part of its build, and fails when one
// is not permitted in a product. `--write` updates docs/maintainers/licences.md. Needs a build.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundledPackages } from "../../scripts/bundled.mjs";
import { installedPackages } from "../../scripts/lock-file.mjs";
import { packages, readJson, root } from "../../scripts/packages.ts";

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
const page = `# Licences

What a user of a package gets with it (\`node --import tsx test/gates/check-licences.mjs --write\`). You choose and install optional peers yourself.

| package | with | how | version | licence |
|---|---|---|---|---|
${rows.map(({ of, name, how, version, licence }) => `| ${of} | ${name} | ${how} | ${version} | ${licence} |`).join("\n")}
`;
const file = join(root, "docs/maintainers/licences.md");
if (process.argv.includes("--write")) writeFileSync(file, page);
else if (readFileSync(file, "utf8") !== page) {
  console.error(
    "docs/maintainers/licences.md is out of date; run: node --import tsx test/gates/check-licences.mjs --write",
  );
  process.exit(1);
}
console.log(`licences: ${new Set(rows.map(({ name }) => name)).size} packages, all permitted`);

function rowOf({ name: of }, path, name, how) {
  const { version, license = "unknown" } = lock.packages[path];
  return { of, name, how, version, licence: license };
}
