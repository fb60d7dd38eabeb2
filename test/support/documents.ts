import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** A fenced block of a document, with the comment in the line before it. */
export type MarkedBlock = {
  readonly language: string;
  /** `examples/name.ts#region`, `imports`, `run: ` and the test that reads the block, `none: reason`, or empty. */
  readonly mark: string;
  readonly text: string;
  readonly line: number;
};

export function blocksOf(document: string): readonly MarkedBlock[] {
  const pattern = /(?:^<!-- (.*) -->\n)?^```(\w*)\n([\s\S]*?)^```$/gm;
  return [...document.matchAll(pattern)].map(({ 1: mark = "", 2: language = "", 3: text = "", index }) => ({
    language,
    mark,
    text,
    line: document.slice(0, index).split("\n").length,
  }));
}

/** The lines between `// #region name` and `// #endregion` (`#` in Python, YAML, settings and Dockerfiles), moved to the left edge. */
export function regionOf(reference: string): string {
  const [path = "", name] = reference.split("#");
  const lines = readFileSync(path, "utf8").split("\n");
  const comment = /\.(py|ya?ml|conf|service)$|Dockerfile$/.test(path) ? "#" : "//";
  const start = lines.findIndex((line) => line.trim() === `${comment} #region ${name}`);
  const end = lines.findIndex((line, index) => index > start && line.trim() === `${comment} #endregion`);
  if (start === -1 || end === -1) throw new Error(`there is no region ${reference}`);
  const indent = lines[start]?.search(/\S/) ?? 0;
  return lines
    .slice(start + 1, end)
    .map((line) => `${line.slice(indent)}\n`)
    .join("");
}

/** The lines of a shell block without comments; a line that ends with a backslash continues. */
export const linesOf = (text: string) =>
  text
    .replace(/\\\n\s*/g, "")
    .split("\n")
    .map((line) => line.replace(/(?:^|\s+)#.*$/, "").trim())
    .filter((line) => line !== "");

/** The lines of the shell block of a document that has this part. */
export function shellBlockOf(file: string, part: string): readonly string[] {
  const blocks = blocksOf(readFileSync(file, "utf8"));
  const block = blocks.find(({ language, text }) => language === "sh" && text.includes(part));
  if (!block) throw new Error(`${file} has no shell block with ${part}`);
  return linesOf(block.text);
}

/**
 * The arguments of the command line of a document that has this part, with other values for some of them.
 * @param program what the line starts with, after `npx`, such as `workspace-tasks compare`
 */
export function shownArguments(
  file: string,
  { program, part, values }: { program: string; part: string; values: Readonly<Record<string, string>> },
): readonly string[] {
  const lines = shellBlockOf(file, part).map((each) => each.replace(/^npx /, ""));
  const line = lines.find((each) => each.startsWith(`${program} `) && each.includes(part));
  if (line === undefined) throw new Error(`${file} has no command ${program} with ${part}`);
  return line
    .slice(program.length + 1)
    .split(/ (?![^<]*>)/)
    .map((word) => values[word] ?? word);
}

const withoutCode = (text: string) => text.replace(/```[\s\S]*?```/g, "").replace(/`[^`\n]*`/g, "");
/** The anchor of a heading on code hosts, and on the site. */
export const anchorOf = (heading: string) =>
  heading
    .trim()
    .toLowerCase()
    .replace(/`/g, "")
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-");

const linkForms = [
  // [text](target "title"), also of a picture
  /\]\(\s*<?([^)\s>]+)>?(?:\s+["'(][^)]*)?\)/g,
  // [name]: target
  /^ {0,3}\[[^\]]+\]:\s+<?([^\s>]+)/gm,
  /<(?:a|img|source|video)\b[^>]*?\s(?:href|src|poster)\s*=\s*["']?([^"'\s>]+)/gi,
];
const targetsIn = (text: string) =>
  linkForms.flatMap((form) => [...text.matchAll(form)].map(([, target = ""]) => target));

/** The relative links of the documents at `root`, pictures included, that lead to no file or no heading. */
export function deadLinks(root: string, documents: readonly string[]): readonly string[] {
  const anchors = new Map<string, ReadonlySet<string>>();
  const anchorsOf = (file: string): ReadonlySet<string> => {
    const known = anchors.get(file) ?? anchorsIn(readFileSync(file, "utf8"));
    anchors.set(file, known);
    return known;
  };
  return documents.flatMap((document) => {
    const text = withoutCode(readFileSync(join(root, document), "utf8"));
    return targetsIn(text).flatMap((target) => {
      if (/^[a-z]+:/.test(target)) return [];
      const [path, anchor] = target.split("#");
      const absolute = path ? normalize(join(root, dirname(document), path)) : join(root, document);
      if (!existsSync(absolute)) return [`${document}: ${target} does not exist`];
      if (anchor && statSync(absolute).isFile() && !anchorsOf(absolute).has(anchor))
        return [`${document}: ${target} has no such heading`];
      return [];
    });
  });
}

/** A heading that occurs again has a number. */
function anchorsIn(text: string): ReadonlySet<string> {
  const headings = text.matchAll(/^#{1,6}\s+(.+)$/gm);
  const names = Array.from(headings, ([, heading = ""]) => anchorOf(heading));
  return new Set(
    names.map((name, index) => {
      const earlier = names.slice(0, index).filter((each) => each === name).length;
      return earlier === 0 ? name : `${name}-${earlier}`;
    }),
  );
}

type Cells = readonly string[];

/** A table in Markdown; `alignment` is of every column but the first. */
export function markdownTable(columns: Cells, rows: readonly Cells[], alignment = "---"): string {
  const text = (cells: Cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  const line = columns.map((_, index) => `${index ? alignment : "---"}|`);
  return [text(columns), `|${line.join("")}`, ...rows.map(text)].join("\n");
}
