import { existsSync } from "node:fs";
import { join } from "node:path";
import { buildStamp } from "../../scripts/build-inputs.ts";
import { root } from "../../scripts/packages.ts";

export const builtSite = "docs/.vitepress/dist";

const stamp = buildStamp(
  "site-built-from",
  /^(docs|sdk|mock-server|receiver-kit|scripts|test\/bench\/results|test\/support\/(dead-links|markdown-table|public-exports))\b|^[A-Z]+\.md$|^package-lock\.json$/,
);

/** Whether the site was built from the documents and sources as they are. */
export const isSiteBuilt = (): boolean =>
  existsSync(join(root, builtSite, "index.html")) && stamp.isCurrent();

export const { clear: setSiteUnbuilt, set: setSiteBuilt } = stamp;
