import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { hashOf } from "../../scripts/build-inputs.ts";
import { root } from "../../scripts/packages.ts";

export const builtSite = "docs/.vitepress/dist";

const builtFrom = join(root, ".tmp/site-built-from");
const inputs =
  /^(docs|sdk|mock-server|receiver-kit|scripts|test\/bench\/results|test\/support\/(dead-links|markdown-table|public-exports))\b|^[A-Z]+\.md$|^package-lock\.json$/;

/** Whether the site was built from the documents and sources as they are. */
export const isSiteBuilt = (): boolean =>
  existsSync(join(root, builtSite, "index.html")) &&
  existsSync(builtFrom) &&
  readFileSync(builtFrom, "utf8") === hashOf(inputs);

/** Before a build, which may fail in the middle. */
export const setSiteUnbuilt = (): void => rmSync(builtFrom, { force: true });

export function setSiteBuilt(): void {
  mkdirSync(dirname(builtFrom), { recursive: true });
  writeFileSync(builtFrom, hashOf(inputs));
}
