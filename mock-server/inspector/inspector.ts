import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** Address of the page; its control calls go to `v1/` below it. */
export const inspectorPath = "/_mock/";

// The page runs no inline code and sends requests only to this mock. Styles are set through the CSS object model, which
// the policy does not restrict.
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  txt: "text/plain; charset=utf-8",
};

/** The inspector page as a function of a path below `/_mock/`; the files are read once. */
export function createInspector(folder: string | null = builtPage()): (path: string) => Response {
  const files = new Map<string, { readonly body: Uint8Array<ArrayBuffer>; readonly type: string }>();
  for (const name of folder ? ["index.html", ...assetsIn(folder)] : []) {
    const type = types[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream";
    files.set(name, { body: new Uint8Array(readFileSync(join(folder ?? "", name))), type });
  }

  return (path) => {
    if (files.size === 0) return textResponse("the inspector page is not built; run: npm run build\n", 503);
    const name = path.slice(inspectorPath.length) || "index.html";
    const file = files.get(name);
    if (!file) return textResponse(`there is no ${inspectorPath}${name.slice(0, 100)}\n`, 404);
    return new Response(file.body, {
      headers: {
        "content-type": file.type,
        "content-security-policy": contentSecurityPolicy,
        // Names in assets/ carry a hash of the content.
        "cache-control": name.startsWith("assets/") ? "public, max-age=31536000, immutable" : "no-cache",
        // A page that opens this one in a window gets no handle of it.
        "cross-origin-opener-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
      },
    });
  };
}

/** Resolved from the package, so that sources and build find the page in the same place. */
function builtPage(): string | null {
  const root = dirname(createRequire(import.meta.url).resolve("@workspace-tasks/mock-server/package.json"));
  const folder = join(root, "dist/inspector");
  return existsSync(join(folder, "assets")) ? folder : null;
}

const assetsIn = (folder: string) => readdirSync(join(folder, "assets")).map((name) => `assets/${name}`);

function textResponse(text: string, status: number): Response {
  return new Response(text, {
    status,
    headers: {
      "content-type": "text/plain; charset=utf-8",
      "content-security-policy": "default-src 'none'",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    },
  });
}
