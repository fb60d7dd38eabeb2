// A page shows parts of examples, whose imports are elsewhere in the file. Its block marked `imports` has those that a reader
// needs to run the parts.
import { readFileSync } from "node:fs";
import { blocksOf } from "./marked-blocks.ts";

const importPattern = /^import (type )?\{([^}]*)\} from "(workspace-tasks\/[^"]+)";$/gm;
const widthMax = 100;

interface NamedImport {
  readonly name: string;
  readonly isType: boolean;
  readonly from: string;
}

function importsIn(code: string): readonly NamedImport[] {
  return [...code.matchAll(importPattern)].flatMap(([, typeOnly, names = "", from = ""]) =>
    names
      .split(",")
      .map((each) => each.trim())
      .filter(Boolean)
      .map((each) => ({
        name: each.replace(/^type /, ""),
        isType: Boolean(typeOnly) || /^type /.test(each),
        from,
      })),
  );
}

const withoutTexts = (code: string) => code.replace(/\/\/.*|"(?:[^"\\]|\\.)*"/g, "");

/** What the blocks of a page use of this package and do not import. */
function importsOf(document: string): readonly NamedImport[] {
  const blocks = blocksOf(document).filter(({ mark }) => /^examples\/.*\.(?:ts|mjs)#/.test(mark));
  const imported = new Set(blocks.flatMap(({ text }) => importsIn(text)).map(({ name }) => name));
  const needed = blocks.flatMap(({ mark, text }) => {
    const used = new Set(withoutTexts(text).match(/(?<!\.)\b[A-Za-z]\w*/g));
    return importsIn(readFileSync(mark.replace(/#.*/, ""), "utf8")).filter(({ name }) => used.has(name));
  });
  return needed.filter(({ name }) => !imported.has(name));
}

function codeOf(imports: readonly NamedImport[]): string {
  return [...new Set(imports.map(({ from }) => from))]
    .toSorted()
    .map((from) => {
      const own = new Map(imports.filter((each) => each.from === from).map((each) => [each.name, each]));
      const names = [...own.values()]
        .toSorted((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1))
        .map(({ name, isType }) => (isType ? `type ${name}` : name));
      const line = `import { ${names.join(", ")} } from "${from}";\n`;
      return line.length <= widthMax
        ? line
        : `import {\n${names.map((name) => `  ${name},\n`).join("")}} from "${from}";\n`;
    })
    .join("");
}

/** The page with its imports. @throws for a page that needs imports and has no place for them */
export function withImports(document: string): string {
  const code = codeOf(importsOf(document));
  const pattern = /(^<!-- imports -->\n```ts\n)[\s\S]*?(^```$)/m;
  if (code !== "" && !pattern.test(document)) {
    throw new Error(`add "<!-- imports -->" and a ts block to the page, for\n${code}`);
  }
  return document.replace(pattern, (_, opening: string, closing: string) => opening + code + closing);
}
