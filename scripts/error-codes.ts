import { readFileSync } from "node:fs";

/** The page that leads from symptoms and codes to their causes. */
export const troubleshootingDocument = "docs/troubleshooting.md";

const lists = [
  ["SDK", "docs/errors.md", "## SDK", "## Receiver"],
  ["Receiver kit", "docs/errors.md", "## Receiver", undefined],
  ["Mock server, control API and `createControlClient`", "docs/mock-errors.md", "## Options", undefined],
] as const;

/** The document with links to the sections of all codes. */
export function withErrorCodes(document: string): string {
  const parts = lists.map(([title, file, from, to]) => {
    const text = readFileSync(file, "utf8");
    const start = text.indexOf(`\n${from}`);
    const before = text.slice(0, start).split("\n");
    const section = text.slice(start, to ? text.indexOf(`\n${to}`) : undefined);
    const codes = [...section.matchAll(/^### ([A-Z0-9_]+)$/gm)].map(([, code = ""]) => {
      // The anchor of a second heading of the same text has a number.
      const isSecond = before.some((line) => /^#+ /.test(line) && line.replace(/^#+ /, "") === code);
      return `[${code}](${file.slice("docs/".length)}#${code.toLowerCase()}${isSecond ? "-1" : ""})`;
    });
    return `**${title}**: ${codes.join(" · ")}\n`;
  });
  const mark = /(<!-- codes:begin -->\n)[\s\S]*(<!-- codes:end -->)/;
  return document.replace(mark, (_, begin: string, end: string) => `${begin}${parts.join("\n")}${end}`);
}
