import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const sources = join(root, "mock-server/inspector/page");
const built = join(root, "dist/mock-server/inspector/page");

/** Builds the inspector page unless the one in dist/ is newer than everything it is made of. */
export function buildPage(): void {
  const index = join(built, "index.html");
  const builtAtMs = existsSync(index) ? statSync(index).mtimeMs : 0;
  if (filesIn(sources).every((file) => statSync(file).mtimeMs <= builtAtMs)) return;
  const vite = join(root, "node_modules/vite/bin/vite.js");
  const config = join(sources, "vite.config.ts");
  execFileSync(process.execPath, [vite, "build", "--logLevel", "warn", "--config", config], { cwd: root });
}

/** Bytes of the whole page as a server with gzip would send it. */
export function gzippedPageBytes(): number {
  return filesIn(built).reduce((sum, file) => sum + gzipSync(readFileSync(file), { level: 9 }).length, 0);
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
