import { readFileSync } from "node:fs";
import ts from "typescript";
import { describe, expect, it } from "vitest";

// The exports of the entry points are the public API. A removal or a rename is a breaking change.
// `npx vitest run test/unit/public-api.test.ts -u` accepts a change; the changelog lists it.

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

it("the exports of every entry point equal public-api.txt", async () => {
  const page = surface.map(
    ({ name, exported }) =>
      `workspace-tasks/${name}\n${exported.map((each) => `  ${each.isType ? "type " : ""}${each.name}\n`).join("")}`,
  );
  await expect(page.join("\n")).toMatchFileSnapshot("public-api.txt");
});

describe("every entry point at run time", () => {
  it.each(surface)(
    "workspace-tasks/$name exports the values of its source text",
    async ({ name, exported }) => {
      const specifier = `workspace-tasks/${name}`;
      const module = (await import(specifier)) as object;
      const values = exported.filter(({ isType }) => !isType).map((each) => each.name);
      expect(Object.keys(module).sort()).toEqual(values);
    },
  );
});

it("the check rejects export * and finds all other exports", () => {
  expect(() => exportsOf("a.ts", 'export * from "./b.ts";')).toThrow("without names");
  expect(exportsOf("a.ts", "export type A = 1; export const b = 1, c = 2; const d = 3;")).toEqual([
    { name: "A", isType: true },
    { name: "b", isType: false },
    { name: "c", isType: false },
  ]);
});
