import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { packages, pages, root } from "./packages.ts";
import { projectFiles } from "./project-files.ts";

/** Says whether something was built from its inputs as they are. @param name of a file, which holds their hash */
export function buildStamp(name: string, inputs: RegExp) {
  const file = join(root, ".tmp", name);
  return {
    isCurrent: () => existsSync(file) && readFileSync(file, "utf8") === hashOf(inputs),
    /** Is called before a build, which may end in the middle: its output is then of no sources. */
    clear: () => rmSync(file, { force: true }),
    set() {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, hashOf(inputs));
    },
  };
}

const stamp = buildStamp(
  "built-from",
  /^(sdk|mock-server|receiver-kit|docs\/generate|test\/bench\/results)\b|^scripts\/(build|packages|write)|^(package|package-lock|tsconfig)\.json$|^schema\.graphql$/,
);

export const { clear: setUnbuilt, set: setBuilt } = stamp;

/** Whether each dist/ was built from the sources as they are. */
export function isBuilt(): boolean {
  if (!stamp.isCurrent()) return false;
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

/** The hash of the files of the project whose paths match. */
function hashOf(paths: RegExp): string {
  const hash = createHash("sha256");
  for (const file of projectFiles(root, "").filter((path) => paths.test(path)))
    hash.update(file).update(readFileSync(join(root, file)));
  return hash.digest("hex");
}
