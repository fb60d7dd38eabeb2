// Lists the licence of every package that is installed with workspace-tasks, and fails when one is not permitted in a
// product. `--write` updates docs/maintainers/licences.md.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installedPackages } from "./lock-file.mjs";

const permitted = new Set(["MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "0BSD", "Unlicense"]);

const root = join(import.meta.dirname, "..");
const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));

const packages = installedPackages(lock)
  .map(({ path, name }) => {
    const { version, license = "unknown" } = lock.packages[path];
    return { name, version, licence: license };
  })
  .sort((a, b) => a.name.localeCompare(b.name));
const rejected = packages.filter(({ licence }) => !permitted.has(licence));
if (rejected.length > 0) {
  console.error(
    `licences that are not permitted: ${rejected.map(({ name, licence }) => `${name} (${licence})`).join(", ")}`,
  );
  process.exit(1);
}
const page = `# Licences

Packages that are installed with \`workspace-tasks\` (\`node scripts/check-licences.mjs --write\`). You choose and
install optional peers yourself.

| package | version | licence |
|---|---|---|
${packages.map(({ name, version, licence }) => `| ${name} | ${version} | ${licence} |`).join("\n")}
`;
const file = join(root, "docs/maintainers/licences.md");
if (process.argv.includes("--write")) writeFileSync(file, page);
else if (readFileSync(file, "utf8") !== page) {
  console.error("docs/maintainers/licences.md is out of date; run: node scripts/check-licences.mjs --write");
  process.exit(1);
}
console.log(`licences: ${packages.length} packages, all permitted`);
