import errors from "../../errors.md?raw";

const rows = errors
  .split("\n\n")
  .filter((table) => /^\|.*\| what to do \|\n/.test(table))
  .flatMap((table) => [...table.matchAll(/^\| (.*) \|$/gm)].map(([, row = ""]) => row.split(" | ")));

/** What to do about an error: the last cell of its row in the documents. `undefined` for a code without one. */
export function adviceFor(code: string): string | undefined {
  const row = rows.find(([codes = ""]) => codes.split(", ").includes(`\`${code}\``));
  return row
    ?.at(-1)
    ?.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll("`", "");
}
