// `npm run docs` updates the regions of examples that documents and the @example of doc comments show, and the table of
// assumptions. What is made for the site alone is in site.ts.
import { readFileSync, writeFileSync } from "node:fs";
import { projectFiles } from "../../scripts/project-files.ts";
import { withAssumptions } from "./assumptions-table.ts";
import { withExamples, withRegions } from "./example-regions.ts";
import { withImports } from "./page-imports.ts";

for (const file of projectFiles(".", ".md", ".ts")) {
  const text = readFileSync(file, "utf8");
  const page = file === "docs/assumptions.md" ? withAssumptions(text) : text;
  update(file, text, file.endsWith(".ts") ? withExamples(text) : importsAt(file, withRegions(page)));
}

function importsAt(file: string, text: string): string {
  try {
    return withImports(text);
  } catch (error) {
    throw new Error(`${file}: ${error instanceof Error ? error.message : error}`);
  }
}

/** Writes a document. With `--check` it changes nothing and fails when the document is out of date. */
function update(file: string, before: string, text: string): void {
  if (text === before) return;
  if (process.argv.includes("--check")) {
    console.error(`${file} is out of date; run npm run docs`);
    process.exitCode = 1;
    return;
  }
  writeFileSync(file, text);
  console.log(`updated ${file}`);
}
