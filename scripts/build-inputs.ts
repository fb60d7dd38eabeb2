import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { packages, pages, root } from "./packages.ts";
import { projectFiles } from "./project-files.ts";

const builtFrom = join(root, ".tmp/built-from");
const inputs =
  /^(sdk|mock-server|receiver-kit|docs\/generate|test\/bench\/results)\b|^scripts\/(build|packages|write)|^(package|package-lock|tsconfig)\.json$|^schema\.graphql$/;

/** Whether each dist/ was built from the sources as they are. */
export function isBuilt(): boolean {
  if (!existsSync(builtFrom) || readFileSync(builtFrom, "utf8") !== hashOf(inputs)) return false;
  const files = packages.flatMap(({ folder, entries }) =>
    entries.flatMap(({ out }) => [`${folder}/dist/${out}.js`, `${folder}/dist/${out}.d.ts`]),
  );
  const others = [
    "sdk/events/dist/asyncapi.json",
    ...pages.map(({ of, out }) => `${of}/dist/${out}/index.html`),
    "docs/reference/commands.md",
  ];
  return [...files, ...others].every((file) => existsSync(join(root, file)));
}

/** Before a build, which may end in the middle: its output is then of no sources. */
export function setUnbuilt(): void {
  rmSync(builtFrom, { force: true });
}

export function setBuilt(): void {
  mkdirSync(dirname(builtFrom), { recursive: true });
  writeFileSync(builtFrom, hashOf(inputs));
}

/** Of the files of the project whose paths match. */
export function hashOf(paths: RegExp): string {
  const hash = createHash("sha256");
  for (const file of projectFiles(root, "").filter((path) => paths.test(path)))
    hash.update(file).update(readFileSync(join(root, file)));
  return hash.digest("hex");
}
