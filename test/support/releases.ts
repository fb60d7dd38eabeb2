// The packed build as it is, and two releases that may follow it, made by changing its text: `next` adds a column and
// writes to it; `after` requires that column, so that the present release may not use the schema any more.

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { unpackPackages } from "../../scripts/pack.ts";

const root = path.resolve(import.meta.dirname, "../..");

export type ReleaseName = "present" | "next" | "after";

/** The first release that may use the schema of `after`. */
export const oldestRelease = "0.2.0";

/** Projects, each with one release in its `node_modules`; deleted with this process. */
export type Releases = Readonly<Record<ReleaseName, string>>;

/** Builds what is not built yet, and packs it. */
export function packReleases(): Releases {
  const built = spawnSync(process.execPath, ["--import", "tsx", "scripts/build.mjs"], {
    cwd: root,
    encoding: "utf8",
  });
  if (built.status !== 0) throw new Error(`the build failed:\n${built.stderr}`);
  mkdirSync(path.join(root, ".tmp"), { recursive: true });
  const folder = mkdtempSync(path.join(root, ".tmp/releases-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const folderOf = (name: ReleaseName) => path.join(folder, name);
  mkdirSync(folderOf("present"));
  unpackPackages(folderOf("present"));
  const derive = (from: ReleaseName, to: ReleaseName, patches: readonly Patch[]) => {
    cpSync(folderOf(from), folderOf(to), { recursive: true, verbatimSymlinks: true });
    for (const patch of patches)
      apply(path.join(folderOf(to), "node_modules/@workspace-tasks/receiver-kit"), patch);
  };
  derive("present", "next", expand);
  derive("next", "after", contract);
  return { present: folderOf("present"), next: folderOf("next"), after: folderOf("after") };
}

interface Patch {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

function apply(folder: string, { file, find, replace }: Patch): void {
  const name = path.join(folder, file);
  const parts = readFileSync(name, "utf8").split(find);
  if (parts.length !== 2) throw new Error(`${file}: expected once, found ${parts.length - 1} times: ${find}`);
  writeFileSync(name, parts.join(replace));
}

const postgres = "dist/shared/postgres-inbox.js";
const sqlite = "dist/shared/sqlite-inbox.js";
const sqliteFile = "dist/shared/sqlite-file.js";

/** One more at the end of the list. */
const append = (file: string, release: string, oldestUsable: number, statements: string): Patch => {
  const list = file === postgres ? "postgresMigrations" : "sqliteMigrations";
  const find = `schemaVersionOf(${list})`;
  const migration = `{ release: "${release}", oldestUsable: ${oldestUsable}, statements: ${statements} }`;
  return { file, find, replace: `(${list}.push(${migration}), ${find})` };
};
const version = (from: string, to: string): Patch => ({
  file: "package.json",
  find: `"version": "${from}"`,
  replace: `"version": "${to}"`,
});

const expand: readonly Patch[] = [
  version("0.1.0", oldestRelease),
  append(
    ...([postgres, oldestRelease, 1] as const),
    `(schema) => \`ALTER TABLE \${schema}.deliveries ADD COLUMN stored_by text;\``,
  ),
  { file: postgres, find: "const storedColumns = [", replace: 'const storedColumns = ["stored_by",' },
  { file: postgres, find: "const storedValues = [", replace: `const storedValues = ["'next'",` },
  append(
    ...([sqliteFile, oldestRelease, 1] as const),
    "`ALTER TABLE workspace_tasks_deliveries ADD COLUMN stored_by TEXT;`",
  ),
  {
    file: sqlite,
    find: "last_error, secret_index, traceparent)\n  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    replace:
      "last_error, secret_index, traceparent, stored_by)\n  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, 'next')",
  },
];

const fill = "SET stored_by = 'present' WHERE stored_by IS NULL";
const contract: readonly Patch[] = [
  version(oldestRelease, "0.3.0"),
  append(
    ...([postgres, "0.3.0", 2] as const),
    `(schema) => \`UPDATE \${schema}.deliveries ${fill};
      ALTER TABLE \${schema}.deliveries ALTER COLUMN stored_by SET NOT NULL;\``,
  ),
  append(
    ...([sqliteFile, "0.3.0", 2] as const),
    `\`UPDATE workspace_tasks_deliveries ${fill};
      CREATE TRIGGER workspace_tasks_stored_by BEFORE INSERT ON workspace_tasks_deliveries WHEN new.stored_by IS NULL
      BEGIN SELECT RAISE(ABORT, 'stored_by is missing'); END;\``,
  ),
];
