import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { builtSite, isSiteBuilt } from "../../../../docs/generate/site-inputs.ts";
import { root } from "../../../../scripts/packages.ts";
import { type StaticSite, serveFolder } from "./static-site.ts";

/** Serves the documentation site, which is built unless it was built from the documents and sources as they are. */
export async function serveSite(): Promise<StaticSite> {
  if (!isSiteBuilt()) await buildSite();
  return serveFolder(join(root, builtSite), "/project");
}

async function buildSite(): Promise<void> {
  const args = ["--conditions=workspace-tasks-source", "--import", "tsx", "docs/generate/site.ts"];
  await promisify(execFile)(process.execPath, args, { cwd: root, env: { ...process.env, NODE_ENV: "" } });
}
