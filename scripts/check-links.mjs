// A guide whose links are dead sends its reader away. Checks every relative link, its anchor included,
// in the Markdown files that are committed.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "*.md"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => file && existsSync(join(root, file)));

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
