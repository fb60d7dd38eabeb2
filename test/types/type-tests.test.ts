// The type tests, as tests: so that a run with changed sources shows that they notice a change of the types.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { beforeAll, expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const names = readdirSync(import.meta.dirname).filter((name) => name.endsWith(".test-d.ts"));
const pathOf = (name: string) => join(import.meta.dirname, name);

let program: ts.Program;

beforeAll(() => {
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root);
  program = ts.createProgram(names.map(pathOf), options);
}, 300_000);

it.each(names)("the compiler finds no mistake in %s", (name) => {
  const found = program.getSemanticDiagnostics(program.getSourceFile(pathOf(name)));
  expect(ts.formatDiagnostics(found, ts.createCompilerHost({}))).toBe("");
});
