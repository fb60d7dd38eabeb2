// `npm run docs` updates what is derived: marked regions of the examples in documents and in the @example of doc
// comments, the table of the control API, the list of its calls, and the tables of measured costs and faults.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { apiIndex, apiReference, withApiContents } from "./api-reference.ts";
import { assistantIndex, assistantText } from "./assistant-texts.ts";
import { cliDocument, withHelpTexts } from "./cli-docs.ts";
import { controlCallsFile, controlCallsModule, withControlApi } from "./control-api-table.ts";
import { troubleshootingDocument, withErrorCodes } from "./error-codes.ts";
import { withExamples, withRegions } from "./marked-blocks.ts";
import { rootModule } from "./package-root.ts";
import { withImports } from "./page-imports.ts";
import { projectFiles } from "./project-files.mjs";
import { scaleDocument, withScaleTables } from "./scale-tables.ts";
import {
  settingsDocument,
  settingsJsonSchema,
  settingsSchemaFile,
  withSettingsTable,
} from "./settings-docs.ts";

/** `--check` changes nothing and fails when a file is out of date. */
const isCheck = process.argv.includes("--check");

function update(file: string, text: string): void {
  if (existsSync(file) && text === readFileSync(file, "utf8")) return;
  if (isCheck) {
    console.error(`${file} is out of date; run npm run docs`);
    process.exitCode = 1;
    return;
  }
  writeFileSync(file, text);
  console.log(`updated ${file}`);
}

update(controlCallsFile, controlCallsModule());
update(settingsSchemaFile, settingsJsonSchema());
update("root/index.js", rootModule());
const pages = apiReference();
for (const [file, text] of pages) update(file, text);
for (const file of projectFiles(".", ".md", ".ts")) {
  if (pages.has(file)) continue;
  const text = readFileSync(file, "utf8");
  const withCode = file.endsWith(".ts") ? withExamples(text) : importsAt(file, withRegions(text));
  update(file, await tables(file, withCode));
}
update("llms.txt", assistantIndex());
update("llms-full.txt", assistantText());

function importsAt(file: string, text: string): string {
  try {
    return withImports(text);
  } catch (error) {
    throw new Error(`${file}: ${error instanceof Error ? error.message : error}`);
  }
}

async function tables(file: string, text: string): Promise<string> {
  if (file === "docs/mock-server.md") return withControlApi(text);
  if (file === troubleshootingDocument) return withErrorCodes(text);
  if (file === apiIndex) return withApiContents(text);
  if (file === settingsDocument) return withSettingsTable(text);
  if (file === scaleDocument) return withScaleTables(text);
  return file === cliDocument ? withHelpTexts(text) : text;
}
