// `npm run docs` updates copies: marked regions of the examples in documents and in the @example of doc comments, and
// the table of the control API.
import { readFileSync, writeFileSync } from "node:fs";
import { withControlApi } from "../test/support/control-api-table.ts";
import { withExamples, withRegions } from "../test/support/marked-blocks.ts";
import { projectFiles } from "./project-files.mjs";

for (const file of projectFiles(".", ".md", ".ts")) {
  const text = readFileSync(file, "utf8");
  const withCode = file.endsWith(".ts") ? withExamples(text) : withRegions(text);
  const updated = file === "docs/mock-server.md" ? await withControlApi(withCode) : withCode;
  if (updated === text) continue;
  writeFileSync(file, updated);
  console.log(`updated ${file}`);
}
