import { readFileSync } from "node:fs";

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
