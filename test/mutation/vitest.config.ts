// What Stryker runs: the tests of one policy file, each test file with modules of its own, so that a mutant of a
// constant is evaluated again.

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { defineConfig } from "vitest/config";

const root = resolve(import.meta.dirname, "../..");
const conditions = ["workspace-tasks-source"];

interface Package {
  readonly name: string;
  readonly exports?: Readonly<Record<string, string | { readonly "workspace-tasks-source"?: string }>>;
}

/** Stryker copies the sources and links node_modules, whose links lead back to what it copied: names stay in the copy. */
const sourcesByName = (folder: string) => {
  const { name, exports = {} } = JSON.parse(
    readFileSync(join(root, folder, "package.json"), "utf8"),
  ) as Package;
  return Object.entries(exports).flatMap(([path, target]) => {
    const ownName = path === target ? path : undefined;
    const source = typeof target === "string" ? ownName : target["workspace-tasks-source"];
    if (source === undefined) return [];
    const find = new RegExp(`^${name}${path.slice(1).replace("*", "(.+)")}$`);
    return [{ find, replacement: join(root, folder, source.replace("*", "$1")) }];
  });
};

const { workspaces } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  workspaces: string[];
};

export default defineConfig({
  resolve: { alias: workspaces.flatMap(sourcesByName) },
  ssr: { resolve: { conditions: [...conditions, "node"], externalConditions: conditions } },
  // As in the suite: a test that is slow because the machine is busy has noticed nothing.
  test: { testTimeout: 60_000, include: (process.env["MUTATION_TESTS"] ?? "").split(",") },
});
