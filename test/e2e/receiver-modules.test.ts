import { expect, test } from "vitest";
import { loadedModules } from "../support/loaded-modules.ts";

const modulesOf = (specifier: string) => loadedModules(`await import(${JSON.stringify(specifier)});`);
const of = (modules: readonly string[], part: string) => modules.filter((module) => module.includes(part));

test("a receiver loads neither the audit nor the package that the audit signs with", async () => {
  const modules = await modulesOf("workspace-tasks/receiver-kit");
  expect(of(modules, "/receiver-kit/receiver").length).toBeGreaterThan(0);
  expect(of(modules, "/node_modules/standardwebhooks/")).toEqual([]);
  expect(of(modules, "/receiver-kit/audit/")).toEqual([]);
  for (const peer of ["express", "pg", "libsql", "better-sqlite3", "msw", "vitest"]) {
    expect(of(modules, `/node_modules/${peer}/`)).toEqual([]);
  }
});

test("the audit loads it, so the list of modules is not blind", async () => {
  const modules = await modulesOf("workspace-tasks/receiver-kit/audit");
  expect(of(modules, "/node_modules/standardwebhooks/").length).toBeGreaterThan(0);
});
