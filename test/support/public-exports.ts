import { readFileSync } from "node:fs";
import ts from "typescript";
import { packages } from "../../scripts/packages.ts";

export type PublicExport = { readonly name: string; readonly isType: boolean };
export interface EntryPoint {
  /** As it is imported. */
  readonly specifier: string;
  readonly source: string;
}

/** The entry points of all packages that are code and public. */
export const entryPoints = (): readonly EntryPoint[] =>
  packages.flatMap(({ name, folder, entries }) =>
    entries
      .filter(({ isPublic }) => isPublic)
      .map(({ path, source }) => ({ specifier: path.replace(".", name), source: `${folder}/${source}` })),
  );

/** The names that a module exports, from its text alone, sorted. */
export function exportsOf(file: string, text = readFileSync(file, "utf8")): readonly PublicExport[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true);
  const exported = source.statements.flatMap((statement): readonly PublicExport[] => {
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
  return [...exported].sort((a, b) => (a.name < b.name ? -1 : 1));
}

const isExportKeyword = ({ kind }: ts.ModifierLike) => kind === ts.SyntaxKind.ExportKeyword;
