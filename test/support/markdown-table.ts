type Cells = readonly string[];

/** A table in Markdown; `alignment` is of every column but the first. */
export function markdownTable(columns: Cells, rows: readonly Cells[], alignment = "---"): string {
  const text = (cells: Cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  const line = columns.map((_, index) => `${index ? alignment : "---"}|`);
  return [text(columns), `|${line.join("")}`, ...rows.map(text)].join("\n");
}
