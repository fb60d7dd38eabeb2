// A guide whose links are dead sends its reader away. Checks every relative link, its anchor included,
// in the Markdown files.
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { projectFiles } from "./project-files.mjs";

const root = join(import.meta.dirname, "..");
const files = projectFiles(root, ".md");

const withoutCode = (text) => text.replace(/```[\s\S]*?```/g, "").replace(/`[^`\n]*`/g, "");
const anchorOf = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replace(/`/g, "")
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-");
const anchorsOf = (file) =>
  new Set(
    [...readFileSync(file, "utf8").matchAll(/^#{1,6}\s+(.+)$/gm)].map(([, heading]) => anchorOf(heading)),
  );

const dead = [];
for (const file of files) {
  const text = withoutCode(readFileSync(join(root, file), "utf8"));
  for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target)) continue;
    const [path, anchor] = target.split("#");
    const absolute = path ? normalize(join(root, dirname(file), path)) : join(root, file);
    if (!existsSync(absolute)) dead.push(`${file}: ${target} does not exist`);
    else if (anchor && statSync(absolute).isFile() && !anchorsOf(absolute).has(anchor))
      dead.push(`${file}: ${target} has no such heading`);
  }
}
if (dead.length > 0) {
  console.error(dead.join("\n"));
  process.exit(1);
}
console.log(`links: ${files.length} documents, none dead`);
