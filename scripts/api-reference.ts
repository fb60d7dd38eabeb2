// The API reference in docs/api: one page for each entry point, with the declaration of each export under its doc comment.
import { join } from "node:path";
import ts from "typescript";
import { type EntryPoint, entryPoints } from "./public-exports.ts";

type Statement = ts.Node & { readonly name: ts.Identifier };
interface Entry extends EntryPoint {
  readonly page: string;
}
interface Exported {
  readonly name: string;
  readonly statements: readonly Statement[];
}

const folder = "docs/api";
const written = "<!-- Written by `npm run docs` from the sources; do not edit by hand. -->";

export const apiEntries: readonly Entry[] = entryPoints().map((entry) => ({
  ...entry,
  page: `${folder}/${entry.specifier.split("/").slice(1).join("-")}.md`,
}));

/** The text of each page of the reference, by its path. Takes some seconds: the compiler checks all sources. */
export function apiReference(): ReadonlyMap<string, string> {
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile("tsconfig.json", ts.sys.readFile).config,
    ts.sys,
    process.cwd(),
  );
  const settings = {
    ...options,
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    outDir: "/api",
  };
  const program = ts.createProgram(
    apiEntries.map(({ source }) => source),
    settings,
  );
  const declared = declarationsOf(program);
  return new Map(apiEntries.map((entry) => [entry.page, pageOf(entry, program, declared)]));
}

/** The declaration file of each source. */
function declarationsOf(program: ts.Program): ReadonlyMap<string, ts.SourceFile> {
  const files = new Map<string, ts.SourceFile>();
  program.emit(
    undefined,
    (name, text, _mark, _error, sources) => {
      const source = sources?.[0];
      if (source) files.set(source.fileName, ts.createSourceFile(name, text, ts.ScriptTarget.ESNext, true));
    },
    undefined,
    true,
  );
  return files;
}

function pageOf(entry: Entry, program: ts.Program, declared: ReadonlyMap<string, ts.SourceFile>): string {
  const checker = program.getTypeChecker();
  const exported = exportsOf(entry, program);
  const owners = new Map(
    apiEntries.flatMap((other) =>
      exportsOf(other, program).flatMap(({ statements }) => statements.map((each) => [each, other] as const)),
    ),
  );
  for (const { statements } of exported) for (const each of statements) owners.set(each, entry);
  const referenced = referencedBy(
    exported.flatMap(({ statements }) => statements),
    checker,
  );
  const isOwned = ({ statements: [statement] }: Exported) => statement && owners.has(statement);
  const elsewhere = referenced.flatMap(({ name, statements: [statement] }) => {
    const owner = statement && owners.get(statement);
    return owner && owner !== entry ? [`- [\`${name}\`](${pageName(owner)}#${name.toLowerCase()})\n`] : [];
  });
  const values = exported.filter(({ statements }) => statements.some(isValue));
  const sections = [
    ["Functions, classes and values", values],
    ["Types", exported.filter((each) => !values.includes(each))],
    ["Types that are not exported", referenced.filter((each) => !isOwned(each))],
  ] as const;
  const anchors = new Set(sections.flatMap(([, list]) => list.map(({ name }) => name)));
  const body = sections
    .filter(([, list]) => list.length > 0)
    .map(([title, list]) => {
      const sorted = [...list].sort(byName);
      const contents = sorted.map(({ name }) => linkTo(name)).join(" · ");
      const parts = sorted.map((each) => partOf(each, declared, anchors, checker));
      return `## ${title}\n\n${contents}\n\n${parts.join("\n")}`;
    });
  if (elsewhere.length > 0) body.push(`## Types of other entry points\n\n${elsewhere.sort().join("")}`);
  return `# ${entry.specifier}\n\n${written}\n\n[All entry points](README.md)\n\n${body.join("\n")}`;
}

const byName = (a: Exported, b: Exported) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1);
const pageName = ({ page }: Entry) => page.slice(folder.length + 1);
const linkTo = (name: string) => `[\`${name}\`](#${name.toLowerCase()})`;
const resolve = (checker: ts.TypeChecker, symbol: ts.Symbol) =>
  symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;

function exportsOf(entry: Entry, program: ts.Program): readonly Exported[] {
  const checker = program.getTypeChecker();
  const file = program.getSourceFile(join(process.cwd(), entry.source));
  const module = file && checker.getSymbolAtLocation(file);
  if (!module) throw new Error(`${entry.source}: expected a module`);
  return checker.getExportsOfModule(module).map((symbol) => {
    const { declarations = [] } = resolve(checker, symbol);
    return {
      name: symbol.name,
      statements: declarations.map(statementOf).filter((each) => each !== undefined),
    };
  });
}

/** The declaration at the top of its file that a symbol names. */
function statementOf(node: ts.Declaration): Statement | undefined {
  const isDeclared =
    ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isFunctionDeclaration(node) ||
    ts.isClassDeclaration(node) ||
    ts.isVariableDeclaration(node);
  return isDeclared && node.name && ts.isIdentifier(node.name) ? (node as Statement) : undefined;
}

const isValue = (node: Statement) => !ts.isInterfaceDeclaration(node) && !ts.isTypeAliasDeclaration(node);

/** The types of this project that the declarations name, and those that they name in turn. */
function referencedBy(roots: readonly Statement[], checker: ts.TypeChecker): readonly Exported[] {
  const found = new Map<Statement, Exported>();
  const visit = (node: ts.Node) => {
    if (ts.isBlock(node) || (ts.isPropertyDeclaration(node) && ts.isPrivateIdentifier(node.name))) return;
    if (ts.isTypeReferenceNode(node) || ts.isExpressionWithTypeArguments(node)) {
      const name = ts.isTypeReferenceNode(node) ? node.typeName : node.expression;
      const symbol = checker.getSymbolAtLocation(name);
      for (const declaration of symbol ? (resolve(checker, symbol).declarations ?? []) : []) {
        const statement = statementOf(declaration);
        const isOurs = !/node_modules|\/generated\//.test(declaration.getSourceFile().fileName);
        if (!statement || found.has(statement) || !isOurs || !ts.isSourceFile(statement.parent)) continue;
        found.set(statement, { name: statement.name.text, statements: [statement] });
        visitTypesOf(statement);
      }
    }
    ts.forEachChild(node, visit);
  };
  const visitTypesOf = (statement: Statement) => {
    if (isDerived(statement)) return;
    if (ts.isVariableDeclaration(statement)) {
      if (statement.type) visit(statement.type);
    } else ts.forEachChild(statement, visit);
  };
  for (const root of roots) visitTypesOf(root);
  return [...found.values()];
}

/** Whether its text says less than its members: a type that is computed from schemas or generated types. */
function isDerived(node: Statement): boolean {
  const computed =
    /\b(z\.(infer|input|output)|schema\.\w+|PickSelected|Override|Omit|Immutable|Methods|typeof)\b/;
  if (ts.isInterfaceDeclaration(node))
    return (node.heritageClauses ?? []).some((each) => computed.test(each.getText()));
  return ts.isTypeAliasDeclaration(node) && computed.test(node.type.getText());
}

/** An interface or a type as it is when computed. */
function expanded(node: Statement, checker: ts.TypeChecker): string {
  const type = checker.getTypeAtLocation(node.name);
  const text = (each: ts.Type) => textOf(each, node, checker);
  if (!ts.isInterfaceDeclaration(node)) return `type ${node.name.text} = ${text(type)};`;
  const members = type.getProperties().map((property) => {
    const about = ts.displayPartsToString(property.getDocumentationComment(checker)).split("\n");
    const comment = about[0] ? `  /** ${about.join("\n   * ")} */\n` : "";
    const mark = property.flags & ts.SymbolFlags.Optional ? "?" : "";
    const member = text(checker.getTypeOfSymbolAtLocation(property, node)).replaceAll("\n", "\n  ");
    return `${comment}  readonly ${property.name}${mark}: ${member};\n`;
  });
  return `interface ${node.name.text} {\n${members.join("")}}`;
}

/** A type in full, or without the inner objects of one that is too long to read. */
function textOf(type: ts.Type, node: Statement, checker: ts.TypeChecker): string {
  const { NoTruncation, MultilineObjectLiterals, UseAliasDefinedOutsideCurrentScope, InTypeAlias } =
    ts.NodeBuilderFlags;
  const flags = NoTruncation | MultilineObjectLiterals | UseAliasDefinedOutsideCurrentScope | InTypeAlias;
  const tree = checker.typeToTypeNode(type, node, flags);
  if (!tree) throw new Error(`${node.name.text}: expected a type`);
  const print = (each: ts.Node) =>
    halved(printer.printNode(ts.EmitHint.Unspecified, each, node.getSourceFile()));
  const full = print(tree);
  return full.length <= (ts.isInterfaceDeclaration(node) ? 900 : 4_000) ? full : print(cutBelow(2, tree));
}

const printer = ts.createPrinter({ removeComments: true });

/** The type with `object` in place of objects that nest deeper. */
function cutBelow(depth: number, tree: ts.TypeNode): ts.Node {
  const visit = (node: ts.Node, level: number): ts.Node => {
    if (!ts.isTypeLiteralNode(node))
      return ts.visitEachChild(node, (child) => visit(child, level), undefined);
    if (level === depth) return ts.factory.createKeywordTypeNode(ts.SyntaxKind.ObjectKeyword);
    return ts.visitEachChild(node, (child) => visit(child, level + 1), undefined);
  };
  return visit(tree, 0);
}

const halved = (text: string) => text.replace(/^( {4})+/gm, (indent) => " ".repeat(indent.length / 2));

/** Breaks lines that are too long to read after commas and before vertical bars. */
const wrapped = (code: string) =>
  code
    .split("\n")
    .flatMap((line) => {
      if (line.length <= 120 || line.trimStart().startsWith("*") || line.includes("/**")) return [line];
      const indent = " ".repeat((/^ */.exec(line)?.[0].length ?? 0) + 2);
      const lines: string[] = [];
      let rest = line;
      while (rest.length > 110) {
        const space = Math.max(rest.lastIndexOf(", ", 108) + 1, rest.lastIndexOf(" | ", 108));
        if (space <= indent.length) break;
        lines.push(rest.slice(0, space));
        rest = `${indent}${rest.slice(space + 1)}`;
      }
      return [...lines, rest];
    })
    .join("\n");

function partOf(
  { name, statements }: Exported,
  declared: ReadonlyMap<string, ts.SourceFile>,
  anchors: ReadonlySet<string>,
  checker: ts.TypeChecker,
): string {
  const about = statements.map(documentationOf).find((text) => text !== "") ?? "";
  const code = statements.flatMap((each) =>
    isDerived(each) ? [expanded(each, checker)] : codeOf(each, declared),
  );
  const text = about.replace(/\{@link (\w+)\}/g, (_, target: string) =>
    anchors.has(target) ? linkTo(target) : `\`${target}\``,
  );
  const fenced = `\`\`\`typescript\n${wrapped([...new Set(code)].join("\n"))}\n\`\`\`\n`;
  return `### ${name}\n\n${text}${text ? "\n\n" : ""}${fenced}`;
}

/** The doc comment, with its example. */
function documentationOf(node: Statement): string {
  const owner = ts.isVariableDeclaration(node) ? node.parent.parent : node;
  const comments = ts.getJSDocCommentsAndTags(owner).filter(ts.isJSDoc);
  const text = comments.at(-1)?.getText() ?? "";
  return text
    .replace(/^\/\*\*|\*\/$/g, "")
    .replace(/^[ \t]*\* ?/gm, "")
    .replace(/^@example (\S+)\n/gm, "<!-- $1 -->\n")
    .replace(/^@see (.*?)\s*$/gm, "See $1.")
    .replace(/\s+@see (.*?)\s*$/gm, " See $1.")
    .replace(/^@throws /gm, "Throws ")
    .replace(/^@param (\w+) /gm, "- `$1`: ")
    .trim();
}

/** An interface or a type as in its source; of a value its types only, as the compiler declares it. */
function codeOf(node: Statement, declared: ReadonlyMap<string, ts.SourceFile>): readonly string[] {
  const source = node.getSourceFile();
  if (!isValue(node)) return [bare(node.getText(source))];
  const file = declared.get(source.fileName);
  if (!file) throw new Error(`${source.fileName}: expected its declarations`);
  return file.statements
    .filter((each) => namesOf(each).includes(node.name.text))
    .map((each) => halved(bare(each.getText(file))));
}

function namesOf(statement: ts.Statement): readonly string[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  const isNamed = ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement);
  return isNamed && statement.name ? [statement.name.text] : [];
}

const bare = (text: string) => text.replace(/^export (declare )?/, "");

export const apiIndex = `${folder}/README.md`;

/** The document with the list of pages. */
export function withApiContents(document: string): string {
  const rows = apiEntries.map((entry) => `- [\`${entry.specifier}\`](${pageName(entry)})\n`);
  return document.replace(
    /(<!-- entries:begin -->\n)[\s\S]*(<!-- entries:end -->)/,
    (_, begin: string, end: string) => begin + rows.join("") + end,
  );
}
