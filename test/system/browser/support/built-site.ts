import { execFile } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { builtSite, isSiteBuilt } from "../../../../docs/generate/site-inputs.ts";
import { root } from "../../../../scripts/packages.ts";
import { type ListeningServer, listen } from "../../../support/listen.ts";

/** Builds the documentation site unless it was built from the documents and sources as they are. */
export async function buildSite(): Promise<void> {
  if (isSiteBuilt()) return;
  const args = ["--conditions=workspace-tasks-source", "--import", "tsx", "docs/generate/site.ts"];
  await promisify(execFile)(process.execPath, args, { cwd: root, env: { ...process.env, NODE_ENV: "" } });
}

export interface SiteServer extends ListeningServer {
  /** Sent since the last call of `resetBytes`, compressed. */
  readonly bytes: number;
  resetBytes(): void;
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".png": "image/png",
  ".txt": "text/plain; charset=utf-8",
};

/** Serves the site as a static host does: in a folder of the host, with gzip. */
export async function serveSite(folder = "/project"): Promise<SiteServer> {
  let bytes = 0;
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://site.example");
    const file = join(root, builtSite, pathname.slice(folder.length).replace(/\/$/, "/index.html"));
    const type = types[extname(file)];
    if (!pathname.startsWith(`${folder}/`) || !type || !statSync(file, { throwIfNoEntry: false })?.isFile()) {
      response.writeHead(404).end();
      return;
    }
    const body = type === "image/png" ? readFileSync(file) : gzipSync(readFileSync(file));
    bytes += body.length;
    const encoding = type === "image/png" ? {} : { "content-encoding": "gzip" };
    response.writeHead(200, { "content-type": type, ...encoding }).end(body);
  });
  const listening = await listen(server);
  return {
    ...listening,
    origin: `${listening.origin}${folder}`,
    get bytes() {
      return bytes;
    },
    resetBytes() {
      bytes = 0;
    },
  };
}
