import { pageHeaders, typeOfPageFile } from "@workspace-tasks/kernel/page-headers.ts";

/** Address of the page; its control calls go to `v1/` below it. */
export const inspectorPath = "/_mock/";

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
        ...pageHeaders,
        "content-type": typeOfPageFile(name),
        // Names in assets/ carry a hash of the content.
        "cache-control": name.startsWith("assets/") ? "public, max-age=31536000, immutable" : "no-cache",
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
