// A page shows parts of examples, whose imports are elsewhere in the file. Its block marked `imports` has those that a reader
// needs to run the parts.
import { readFileSync } from "node:fs";
import { blocksOf } from "../../test/support/documents.ts";

const importPattern = /^import (type )?(\w+)?(?:, )?(?:\{([^}]*)\})? from "((?!\.)[^"]+)";$/gm;
const widthMax = 100;

interface NamedImport {
  /** As the code uses it. */
  readonly name: string;
  /** As it stands between the braces: the name, or `Webhook as SvixWebhook`. */
  readonly specifier: string;
  readonly isType: boolean;
  readonly isDefault: boolean;
  readonly from: string;
}

/** Those of packages; files of the examples are not. */
function importsIn(code: string): readonly NamedImport[] {
  return [...code.matchAll(importPattern)].flatMap(([, typeOnly, byDefault, names = "", from = ""]) => [
    ...(byDefault
      ? [{ name: byDefault, specifier: byDefault, isType: Boolean(typeOnly), isDefault: true, from }]
      : []),
    ...names
      .split(",")
      .map((each) => each.trim())
      .filter(Boolean)
      .map((each) => ({
        name: each.replace(/^(?:.* as|type) /, ""),
        specifier: each.replace(/^type /, ""),
        isType: Boolean(typeOnly) || /^type /.test(each),
        isDefault: false,
        from,
      })),
  ]);
}

const withoutTexts = (code: string) => code.replace(/\/\/.*|"(?:[^"\\]|\\.)*"/g, "");

/** What the blocks of a page use and import neither themselves nor in a block above the place for imports. */
function importsOf(document: string): readonly NamedImport[] {
  const all = blocksOf(document);
  const place = all.findIndex(({ mark }) => mark === "imports");
  const isExample = ({ mark }: { readonly mark: string }) => /^examples\/.*\.(?:ts|mjs)#/.test(mark);
  const above = (place === -1 ? all : all.slice(0, place)).filter(isExample);
  const namesIn = (text: string) => importsIn(text).map(({ name }) => name);
  const imported = new Set(above.flatMap(({ text }) => namesIn(text)));
  return all.filter(isExample).flatMap(({ mark, text }) => {
    const used = new Set(withoutTexts(text).match(/(?<!\.)\b[A-Za-z]\w*/g));
    const known = new Set([...imported, ...namesIn(text)]);
    const available = importsIn(readFileSync(mark.replace(/#.*/, ""), "utf8"));
    return available.filter(({ name }) => used.has(name) && !known.has(name));
  });
}

/** Node's own modules first. */
const sortKey = (from: string) => (from.startsWith("node:") ? ` ${from}` : from);

function codeOf(imports: readonly NamedImport[]): string {
  return [...new Set(imports.map(({ from }) => from))]
    .toSorted((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1))
    .map((from) => {
      const own = new Map(imports.filter((each) => each.from === from).map((each) => [each.name, each]));
      const [byDefault] = [...own.values()].filter(({ isDefault }) => isDefault);
      const named = [...own.values()].filter(({ isDefault }) => !isDefault);
      const areTypes = [...own.values()].every(({ isType }) => isType);
      const names = named
        .toSorted((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1))
        .map(({ specifier, isType }) => (isType && !areTypes ? `type ${specifier}` : specifier));
      const keyword = areTypes ? "import type" : "import";
      const start = [byDefault?.name, names.length > 0 ? "{" : undefined].filter(Boolean).join(", ");
      if (names.length === 0) return `${keyword} ${start} from "${from}";\n`;
      const line = `${keyword} ${start} ${names.join(", ")} } from "${from}";\n`;
      return line.length <= widthMax
        ? line
        : `${keyword} ${start}\n${names.map((name) => `  ${name},\n`).join("")}} from "${from}";\n`;
    })
    .join("");
}

/** The page with its imports. @throws for a page that needs imports of this package and has no place for them */
export function withImports(document: string): string {
  const code = codeOf(importsOf(document));
  const pattern = /(^<!-- imports -->\n```ts\n)[\s\S]*?(^```$)/m;
  if (code.includes('"@workspace-tasks/') && !pattern.test(document)) {
    throw new Error(`add "<!-- imports -->" and a ts block to the page, for\n${code}`);
  }
  return document.replace(pattern, (_, opening: string, closing: string) => opening + code + closing);
}
