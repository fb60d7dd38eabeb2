import { readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { type ListeningServer, listen } from "../../../support/listen.ts";

export interface StaticSite extends ListeningServer {
  /** Sent so far in bodies, compressed. */
  readonly bytesSent: number;
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".png": "image/png",
  ".txt": "text/plain; charset=utf-8",
};

/**
 * Serves a folder as a static host does: below a path of the host, with gzip.
 * @param path such as `/project`; the origin ends with it
 */
export async function serveFolder(folder: string, path: string): Promise<StaticSite> {
  let bytesSent = 0;
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://site.example");
    const file = join(folder, pathname.slice(path.length).replace(/\/$/, "/index.html"));
    const type = types[extname(file)];
    if (!pathname.startsWith(`${path}/`) || !type || !statSync(file, { throwIfNoEntry: false })?.isFile()) {
      response.writeHead(404).end();
      return;
    }
    const isCompressed = type === "image/png";
    const body = isCompressed ? readFileSync(file) : gzipSync(readFileSync(file));
    bytesSent += body.length;
    const encoding = isCompressed ? {} : { "content-encoding": "gzip" };
    response.writeHead(200, { "content-type": type, ...encoding }).end(body);
  });
  const listening = await listen(server);
  return {
    ...listening,
    origin: `${listening.origin}${path}`,
    get bytesSent() {
      return bytesSent;
    },
  };
}
