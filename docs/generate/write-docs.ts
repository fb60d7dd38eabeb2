// `npm run docs` updates the regions of examples that documents and the @example of doc comments show. What pages include in the
// package and on the site is in reference-pages.ts.
import { readFileSync, writeFileSync } from "node:fs";
import { projectFiles } from "../../scripts/project-files.ts";
import { withExamples, withRegions } from "./example-regions.ts";
import { withImports } from "./page-imports.ts";

for (const file of projectFiles(".", ".md", ".ts")) {
  const text = readFileSync(file, "utf8");
  update(file, text, file.endsWith(".ts") ? withExamples(text) : importsAt(file, withRegions(text)));
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
