import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { isBuilt, setUnbuilt } from "../../../../scripts/build-inputs.ts";
import { pages } from "../../../../scripts/packages.ts";

const root = fileURLToPath(new URL("../../../../", import.meta.url));

export type PageOwner = (typeof pages)[number]["of"];

const placeOf = (owner: PageOwner) => {
  const { folder, out } = pages.find(({ of }) => of === owner) ?? pages[0];
  return { folder, built: join(root, owner, "dist", out) };
};

/** Builds the page of a package unless the one in its dist/ is newer than everything it is made of. */
export function buildPage(owner: PageOwner = "mock-server"): void {
  if (isBuilt()) return;
  const { folder, built } = placeOf(owner);
  const index = join(built, "index.html");
  const builtAtMs = existsSync(index) ? statSync(index).mtimeMs : 0;
  const made = ["sdk/page-parts", folder].flatMap((folder) => filesIn(join(root, folder)));
  if (made.every((file) => statSync(file).mtimeMs <= builtAtMs)) return;
  setUnbuilt();
  const vite = join(root, "node_modules/vite/bin/vite.js");
  const config = join(root, folder, "vite.config.ts");
  execFileSync(process.execPath, [vite, "build", "--logLevel", "warn", "--config", config], { cwd: root });
}

/** Bytes of files of the page as a server with gzip would send them. @param paths as the browser requested them */
export function gzippedBytes(paths: readonly string[], owner: PageOwner = "mock-server"): number {
  const { built } = placeOf(owner);
  const names = new Set(paths.map((path) => /assets\/[^/]+$/.exec(path)?.[0] ?? "index.html"));
  return filesIn(built)
    .filter((file) => names.has(relative(built, file)))
    .reduce((sum, file) => sum + gzipSync(readFileSync(file), { level: 9 }).length, 0);
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
