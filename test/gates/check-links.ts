// A guide whose links are dead sends its reader away. Checks every relative link, its anchor included, in the documents.
// test/system/package/module-formats.test.ts checks those of the tarball.
import { join } from "node:path";
import { projectFiles } from "../../scripts/project-files.ts";
import { deadLinks } from "../support/dead-links.ts";

const root = join(import.meta.dirname, "../..");
const documents = projectFiles(root, ".md");
const dead = deadLinks(root, documents);
if (dead.length > 0) {
  console.error(dead.join("\n"));
  process.exit(1);
}
console.log(`links: ${documents.length} documents, none dead`);
