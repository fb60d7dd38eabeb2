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

const noPage =
  "the files of the inspector are not there: leave @workspace-tasks/mock-server out of the bundle, or, in a clone, run npm run build\n";

/** The inspector page as a function of a path below `/_mock/`. */
export function createInspector(
  files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>,
): (path: string) => Response {
  return (path) => {
    if (files.size === 0) return textResponse(noPage, 503);
    const name = path.slice(inspectorPath.length) || "index.html";
    const file = files.get(name);
    if (!file) return textResponse(`there is no ${inspectorPath}${name.slice(0, 100)}\n`, 404);
    return new Response(file, {
      headers: {
        "content-type": types[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream",
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
