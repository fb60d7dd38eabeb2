import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

/** URLs of every module that a process loads which does nothing but import `specifier`. */
async function modulesOf(specifier: string): Promise<readonly string[]> {
  const hooks = `export async function load(url, context, next) {
    process.stdout.write(url + "\\n");
    return next(url, context);
  }`;
  const script = `
    import { register } from "node:module";
    register("data:text/javascript," + encodeURIComponent(${JSON.stringify(hooks)}));
    await import(${JSON.stringify(specifier)});`;
  const args = [
    "--conditions=workspace-tasks-source",
    "--import",
    "tsx",
    "--input-type=module",
    "-e",
    script,
  ];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 16 * 1_048_576 });
  return stdout.split("\n");
}

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
