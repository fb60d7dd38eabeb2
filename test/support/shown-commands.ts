import { readFileSync } from "node:fs";
import { blocksOf } from "./marked-blocks.ts";

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
