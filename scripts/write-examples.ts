// Copies the marked regions of the examples into the documents that show them:
//   npx tsx scripts/write-examples.ts
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { withRegions } from "../test/support/marked-blocks.ts";

const documents = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "*.md"], {
  encoding: "utf8",
});
for (const file of documents.split("\n").filter(Boolean)) {
  const text = readFileSync(file, "utf8");
  const renewed = withRegions(text);
  if (renewed === text) continue;
  writeFileSync(file, renewed);
  console.log(`renewed ${file}`);
}
