// Lists the licence of every package that an install of workspace-tasks brings along, and fails when one
// is not among those that may be shipped with a product. `--write` renews docs/licences.md.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const permitted = new Set(["MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "0BSD", "Unlicense"]);

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));

/** Follows `dependencies` from the root, as a user's install does: neither dev dependencies nor peers. */
function shipped() {
  const found = new Map();
  const visit = (from, names) => {
    for (const name of names) {
      const path = locate(from, name);
      if (!path || found.has(path)) continue;
      const entry = lock.packages[path];
      found.set(path, { name, version: entry.version, licence: entry.license ?? "unknown" });
      visit(path, Object.keys(entry.dependencies ?? {}));
    }
  };
  visit("", Object.keys(lock.packages[""].dependencies));
  return [...found.values()].sort((a, b) => a.name.localeCompare(b.name));
}

function locate(from, name) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    const path = `${folder ? `${folder}/` : ""}node_modules/${name}`;
    if (lock.packages[path]) return path;
    if (!folder) return undefined;
  }
}

const packages = shipped();
const strange = packages.filter(({ licence }) => !permitted.has(licence));
if (strange.length > 0) {
  console.error(
    `licences to look at: ${strange.map(({ name, licence }) => `${name} (${licence})`).join(", ")}`,
  );
  process.exit(1);
}
const page = `# Licences

What installing \`workspace-tasks\` brings along (\`node scripts/check-licences.mjs --write\`). Optional peers
are chosen and installed by you.

| package | version | licence |
|---|---|---|
${packages.map(({ name, version, licence }) => `| ${name} | ${version} | ${licence} |`).join("\n")}
`;
const file = join(root, "docs/licences.md");
if (process.argv.includes("--write")) writeFileSync(file, page);
else if (readFileSync(file, "utf8") !== page) {
  console.error("docs/licences.md is stale; run: node scripts/check-licences.mjs --write");
  process.exit(1);
}
console.log(`licences: ${packages.length} packages, all permitted`);
