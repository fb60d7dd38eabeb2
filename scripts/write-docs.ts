// `npm run docs` updates what documents copy: marked regions of the examples, and the table of the control API.
import { readFileSync, writeFileSync } from "node:fs";
import { withControlApi } from "../test/support/control-api-table.ts";
import { withRegions } from "../test/support/marked-blocks.ts";
import { projectFiles } from "./project-files.mjs";

for (const file of projectFiles(".", ".md")) {
  const text = readFileSync(file, "utf8");
  const withExamples = withRegions(text);
  const updated = file === "docs/mock-server.md" ? await withControlApi(withExamples) : withExamples;
  if (updated === text) continue;
  writeFileSync(file, updated);
  console.log(`updated ${file}`);
}
