// `npm run docs` updates what is derived: marked regions of the examples in documents and in the @example of doc
// comments, the table of the control API, the list of its calls, and the tables of measured costs and faults.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cliDocument, withHelpTexts } from "./cli-docs.ts";
import { controlCallsFile, controlCallsModule, withControlApi } from "./control-api-table.ts";
import { withExamples, withRegions } from "./marked-blocks.ts";
import { projectFiles } from "./project-files.mjs";
import { scaleDocument, withScaleTables } from "./scale-tables.ts";
import {
  settingsDocument,
  settingsJsonSchema,
  settingsSchemaFile,
  withSettingsTable,
} from "./settings-docs.ts";

function update(file: string, text: string): void {
  if (existsSync(file) && text === readFileSync(file, "utf8")) return;
  writeFileSync(file, text);
  console.log(`updated ${file}`);
}

update(controlCallsFile, controlCallsModule());
update(settingsSchemaFile, settingsJsonSchema());
for (const file of projectFiles(".", ".md", ".ts")) {
  const text = readFileSync(file, "utf8");
  const withCode = file.endsWith(".ts") ? withExamples(text) : withRegions(text);
  update(file, await tables(file, withCode));
}

async function tables(file: string, text: string): Promise<string> {
  if (file === "docs/mock-server.md") return withControlApi(text);
  if (file === settingsDocument) return withSettingsTable(text);
  if (file === scaleDocument) return withScaleTables(text);
  return file === cliDocument ? withHelpTexts(text) : text;
}
