// `npm run docs` updates what documents derive from: marked regions of the examples, also in the @example of doc
// comments, and tables of the control API, settings, commands and measured costs.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { projectFiles } from "../../scripts/project-files.ts";
import { assistantIndex } from "./assistant-texts.ts";
import { cliDocument, withHelpTexts } from "./cli-docs.ts";
import { withControlApi } from "./control-api-table.ts";
import { withExamples, withRegions } from "./example-regions.ts";
import { withImports } from "./page-imports.ts";
import { peersDocument, withPeerTable } from "./peer-table.ts";
import { scaleDocument, withScaleTables } from "./scale-tables.ts";
import { settingsDocument, withSettingsTable } from "./settings-table.ts";

for (const file of projectFiles(".", ".md", ".ts")) {
  const text = readFileSync(file, "utf8");
  const withCode = file.endsWith(".ts") ? withExamples(text) : importsAt(file, withRegions(text));
  update(file, await tables(file, withCode));
}
update("llms.txt", assistantIndex());

function importsAt(file: string, text: string): string {
  try {
    return withImports(text);
  } catch (error) {
    throw new Error(`${file}: ${error instanceof Error ? error.message : error}`);
  }
}

async function tables(file: string, text: string): Promise<string> {
  if (file === "docs/mock-control-api.md") return withControlApi(text);
  if (file === settingsDocument) return withSettingsTable(text);
  if (file === peersDocument) return withPeerTable(text);
  if (file === scaleDocument) return withScaleTables(text);
  return file === cliDocument ? withHelpTexts(text) : text;
}

/** Writes a generated file. With `--check` it changes nothing and fails when the file is out of date. */
function update(file: string, text: string): void {
  if (existsSync(file) && text === readFileSync(file, "utf8")) return;
  if (process.argv.includes("--check")) {
    console.error(`${file} is out of date; run npm run docs`);
    process.exitCode = 1;
    return;
  }
  writeFileSync(file, text);
  console.log(`updated ${file}`);
}
