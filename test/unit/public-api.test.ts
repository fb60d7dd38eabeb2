import { readFileSync } from "node:fs";
import ts from "typescript";
import { describe, expect, test } from "vitest";

// What users may rely on is what the entry points export. A change here is a decision: a removal or a rename is a
// breaking one. `npx vitest run test/unit/public-api.test.ts -u` accepts it; the changelog tells of it.

const { exports } = JSON.parse(readFileSync("package.json", "utf8")) as {
  exports: Record<string, string | Record<string, string>>;
};
const entryPoints = Object.entries(exports).flatMap(([name, target]) =>
  typeof target === "string" ? [] : [{ name: name.slice(2), file: target["workspace-tasks-source"] ?? "" }],
);

type Exported = { readonly name: string; readonly isType: boolean };

/** The names a module exports, from its text alone. */
function exportsOf(file: string, text: string): readonly Exported[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true);
  return source.statements.flatMap((statement): readonly Exported[] => {
    if (ts.isExportDeclaration(statement)) {
      const { exportClause, isTypeOnly } = statement;
      if (!exportClause || !ts.isNamedExports(exportClause))
        throw new Error(`${file}: exports without names`);
      return exportClause.elements.map((element) => ({
        name: element.name.text,
        isType: isTypeOnly || element.isTypeOnly,
      }));
    }
    if (!ts.canHaveModifiers(statement) || !ts.getModifiers(statement)?.some(isExportKeyword)) return [];
    if (ts.isVariableStatement(statement)) {
      return statement.declarationList.declarations.map(({ name }) => ({
        name: name.getText(),
        isType: false,
      }));
    }
    const { name } = statement as ts.DeclarationStatement;
    const isType = ts.isTypeAliasDeclaration(statement) || ts.isInterfaceDeclaration(statement);
    return [{ name: name?.getText() ?? "default", isType }];
  });
}

const isExportKeyword = ({ kind }: ts.ModifierLike) => kind === ts.SyntaxKind.ExportKeyword;
const byName = (a: Exported, b: Exported) => (a.name < b.name ? -1 : 1);

const surface = entryPoints.map(({ name, file }) => ({
  name,
  exported: [...exportsOf(file, readFileSync(file, "utf8"))].sort(byName),
}));

test("the public surface is the one that was decided on", async () => {
  const page = surface.map(
    ({ name, exported }) =>
      `workspace-tasks/${name}\n${exported.map((each) => `  ${each.isType ? "type " : ""}${each.name}\n`).join("")}`,
  );
  await expect(page.join("\n")).toMatchFileSnapshot("public-api.txt");
});

describe("at run time there is", () => {
  test.each(surface)("in workspace-tasks/$name what its text says", async ({ name, exported }) => {
    const specifier = `workspace-tasks/${name}`;
    const module = (await import(specifier)) as object;
    const values = exported.filter(({ isType }) => !isType).map((each) => each.name);
    expect(Object.keys(module).sort()).toEqual(values);
  });
});

test("no entry point hides what it exports behind a star", () => {
  expect(() => exportsOf("a.ts", 'export * from "./b.ts";')).toThrow("without names");
  expect(exportsOf("a.ts", "export type A = 1; export const b = 1, c = 2; const d = 3;")).toEqual([
    { name: "A", isType: true },
    { name: "b", isType: false },
    { name: "c", isType: false },
  ]);
});
