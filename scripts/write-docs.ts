// Renews what the documents take from elsewhere: the marked regions of the examples, and the table of the control
// API. `npm run docs`
import { readFileSync, writeFileSync } from "node:fs";
import { withControlApi } from "../test/support/control-api-table.ts";
import { withRegions } from "../test/support/marked-blocks.ts";
import { projectFiles } from "./project-files.mjs";

for (const file of projectFiles(".", ".md")) {
  const text = readFileSync(file, "utf8");
  const shown = withRegions(text);
  const renewed = file === "docs/mock-server.md" ? await withControlApi(shown) : shown;
  if (renewed === text) continue;
  writeFileSync(file, renewed);
  console.log(`renewed ${file}`);
}
