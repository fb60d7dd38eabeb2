import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { isBuilt, setUnbuilt } from "../../../../scripts/build-inputs.ts";

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const sources = join(root, "mock-server/inspector/page");
const built = join(root, "mock-server/dist/inspector");

/** Builds the inspector page unless the one in dist/ is newer than everything it is made of. */
export function buildPage(): void {
  if (isBuilt()) return;
  const index = join(built, "index.html");
  const builtAtMs = existsSync(index) ? statSync(index).mtimeMs : 0;
  const made = ["sdk/page-parts", "mock-server/inspector/page"].flatMap((folder) =>
    filesIn(join(root, folder)),
  );
  if (made.every((file) => statSync(file).mtimeMs <= builtAtMs)) return;
  setUnbuilt();
  const vite = join(root, "node_modules/vite/bin/vite.js");
  const config = join(sources, "vite.config.ts");
  execFileSync(process.execPath, [vite, "build", "--logLevel", "warn", "--config", config], { cwd: root });
}

/** Bytes of files of the page as a server with gzip would send them. @param paths as the browser requested them */
export function gzippedBytes(paths: readonly string[]): number {
  const names = new Set(paths.map((path) => path.replace(/^.*\/_mock\//, "") || "index.html"));
  return filesIn(built)
    .filter((file) => names.has(relative(built, file)))
    .reduce((sum, file) => sum + gzipSync(readFileSync(file), { level: 9 }).length, 0);
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
